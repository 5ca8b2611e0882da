import { readFileSync } from 'node:fs';

/** When a process started, so that a number used again by another process is not taken for the one that wrote it; '' where unknown. */
export function startOfProcess(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')')).split(' ')[20] ?? '';
  } catch {
    return '';
  }
}
