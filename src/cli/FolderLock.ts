import { startOfProcess } from './startOfProcess.js';

/** What stands in `ostraka.lock`: the process that claims the folder, and when it started. */
export interface FolderLock {
  readonly pid: number;
  readonly start: string;
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Whether the process that wrote a lock still runs. */
export const isLockHeld = (lock: FolderLock): boolean =>
  isAlive(lock.pid) && (lock.start === '' || startOfProcess(lock.pid) === lock.start);
