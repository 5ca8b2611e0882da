import { describe, expect, it } from 'vitest';
import { dataFolderFinding } from './dataFolderFinding.js';

describe('dataFolderFinding', () => {
  const of = (marker: string | undefined, pid?: number) =>
    dataFolderFinding({ folder: '/d', marker, running: pid === undefined ? undefined : { pid, ports: [] } });

  it('a new folder and one of a known format are well, and it says who uses it', () => {
    expect(of(undefined)).toEqual({ check: 'data folder', state: 'ok', found: '/d is new', advice: '' });
    expect(of('{"format":1}')).toMatchObject({ state: 'ok', found: '/d, format 1' });
    expect(of('{"format":2,"engine":"lmdb"}', 7)).toMatchObject({ state: 'ok', found: '/d, format 2, in use by process 7' });
  });

  it('a newer format is a problem with a way out', () => {
    expect(of('{"format":99}')).toMatchObject({ state: 'problem', found: '/d has data format 99, this version knows 2' });
    expect(of('{"format":99}').advice).toContain('newer Ostraka');
  });

  it.each(['', '{', 'null', '{}', '{"format":"2"}', '[]'])('a marker that says %j is a problem, and no crash', (marker) => {
    expect(of(marker)).toMatchObject({ state: 'problem', found: expect.stringContaining('not what Ostraka wrote') });
    expect(of(marker).advice).not.toBe('');
  });
});
