import { readFileSync } from 'node:fs';

/** The text of a small file; undefined where it cannot be read. For files of /proc and /sys, which other systems do not have. */
export function readTextIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
