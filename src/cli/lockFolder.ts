import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { platformError } from '../platform/index.js';

const lockName = 'ostraka.lock';
const attemptsMax = 10;

/** When a process started, so that a number used again by another process is not taken for the one that wrote the lock. */
const startOf = (pid: number): string => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? '';
  } catch {
    return '';
  }
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

const holds = (lock: { readonly pid: number; readonly start: string }): boolean =>
  isAlive(lock.pid) && (lock.start === '' || startOf(lock.pid) === lock.start);

/**
 * Claims a folder until this process ends: a file with the process' number, created exclusively; that of a dead process is taken over.
 * Errors: DATA_FOLDER_IN_USE.
 */
export async function lockFolder(folder: string): Promise<void> {
  const path = join(folder, lockName);
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (tryCreate(path)) {
      process.once('exit', () => rmSync(path, { force: true }));
      return;
    }
    const holder = readHolder(path);
    if (holder && holds(holder))
      throw platformError('DATA_FOLDER_IN_USE', `${folder} is used by process ${holder.pid}: stop it, or choose another folder`);
    rmSync(path, { force: true });
  }
  throw platformError('DATA_FOLDER_IN_USE', `${path} changes all the time: another process is starting on this folder`);
}

const tryCreate = (path: string): boolean => {
  try {
    const file = openSync(path, 'wx');
    writeSync(file, JSON.stringify({ pid: process.pid, start: startOf(process.pid) }));
    closeSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

const readHolder = (path: string): { readonly pid: number; readonly start: string } | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as { readonly pid: number; readonly start: string };
  } catch {
    return undefined; // half written by a process that died, or just removed
  }
};
