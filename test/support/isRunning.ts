import { readFileSync } from 'node:fs';

/** Whether a process runs. One that has ended and waits to be collected by its parent does not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[1] !== 'Z';
  } catch {
    return process.platform !== 'linux'; // gone since, or a system without /proc
  }
}
