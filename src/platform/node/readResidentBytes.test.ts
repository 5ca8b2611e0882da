import { describe, expect, it } from 'vitest';
import { readResidentBytes } from './readResidentBytes.js';

describe('readResidentBytes (R18)', () => {
  it('reads what the system tells of the process, and nothing where it tells nothing: another system, a process that ends or is gone', () => {
    const files: { readonly [path: string]: string } = {
      '/proc/7/status': 'Name:\tnode\nVmHWM:\t  900 kB\nVmRSS:\t  512 kB\nRssAnon:\t 100 kB\n',
      '/proc/8/status': 'Name:\tnode\nState:\tZ (zombie)\n',
    };
    expect([7, 8, 9].map((pid) => readResidentBytes(pid, (path) => files[path]))).toEqual([512 * 1024, undefined, undefined]);
  });
});
