import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { platformError } from '../platform/index.js';
import { type FolderLock, isLockHeld } from './FolderLock.js';
import { startOfProcess } from './startOfProcess.js';

const lockName = 'ostraka.lock';
const attemptsMax = 10;

/**
 * Claims a folder until this process ends: a file with the process' number, created exclusively; that of a dead process is taken over, and
 * what a power cut left of one.
 * Errors: DATA_FOLDER_IN_USE.
 */
export async function lockFolder(folder: string): Promise<void> {
  const path = join(folder, lockName);
  const own = join(folder, `${lockName}.${process.pid}`);
  writeFileSync(own, JSON.stringify({ pid: process.pid, start: startOfProcess(process.pid) }));
  try {
    claim(path, own, folder);
  } finally {
    rmSync(own, { force: true });
  }
  process.once('exit', () => rmSync(path, { force: true }));
}

/** A link appears whole or not at all, so that a lock is never seen half written. */
const claim = (path: string, own: string, folder: string): void => {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    if (tryLink(own, path)) return;
    const holder = readHolder(path);
    if (holder === 'gone') continue;
    if (holder !== 'damaged' && isLockHeld(holder))
      throw platformError('DATA_FOLDER_IN_USE', `${folder} is used by process ${holder.pid}: stop it, or choose another folder`);
    setAside(path, holder);
  }
  throw platformError('DATA_FOLDER_IN_USE', `${path} changes all the time: another process is starting on this folder`);
};

const tryLink = (own: string, path: string): boolean => {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
};

/** Takes the lock of a dead process away; if another process was faster and the lock is a new one, puts it back. */
const setAside = (path: string, dead: FolderLock | 'damaged'): void => {
  const aside = `${path}.stale.${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const taken = readHolder(aside);
  const isNew = typeof taken === 'object' && (dead === 'damaged' || taken.pid !== dead.pid || taken.start !== dead.start);
  if (isNew) tryLink(aside, path);
  rmSync(aside, { force: true });
};

/** A lock is never half written, so that one that cannot be read is what a power cut left of it: its process is gone. */
const readHolder = (path: string): FolderLock | 'gone' | 'damaged' => {
  try {
    const { pid, start } = JSON.parse(readFileSync(path, 'utf8')) as Partial<FolderLock>;
    return typeof pid === 'number' && typeof start === 'string' ? { pid, start } : 'damaged';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'gone' : 'damaged';
  }
};
