import { describe, expect, it } from 'vitest';
import { readFreeMemory } from './readFreeMemory.js';

const meminfo = 'MemTotal: 24684332 kB\nMemFree: 17000000 kB\nMemAvailable:   20000000 kB\n';
const of = (files: { readonly [path: string]: string }) => readFreeMemory((path) => files[path]);

describe('readFreeMemory', () => {
  it('is what the machine has available, where nothing else bounds it', () => {
    const expected = { bytes: 20_000_000 * 1024, totalBytes: 24_684_332 * 1024, bound: 'the machine' };
    expect(of({ '/proc/meminfo': meminfo })).toEqual(expected);
    expect(of({ '/proc/meminfo': meminfo, '/proc/self/cgroup': '0::/\n', '/sys/fs/cgroup/memory.max': 'max\n' })).toEqual(expected);
  });

  it('is what the nearest full group leaves, unused pages of files included', () => {
    const files = {
      '/proc/meminfo': meminfo,
      '/proc/self/cgroup': '0::/a/b\n',
      '/sys/fs/cgroup/a/b/memory.max': '8000000000\n',
      '/sys/fs/cgroup/a/b/memory.current': '1000000000\n',
      '/sys/fs/cgroup/a/memory.max': '3000000000\n',
      '/sys/fs/cgroup/a/memory.current': '2500000000\n',
      '/sys/fs/cgroup/a/memory.stat': 'anon 5\ninactive_file 400000000\nactive_file 9\n',
    };
    expect(of(files)).toEqual({ bytes: 900_000_000, totalBytes: 3_000_000_000, bound: 'the container' });
  });

  it('knows groups of the first version, and a container whose group is mounted as the root', () => {
    const files = {
      '/proc/meminfo': meminfo,
      '/proc/self/cgroup': '9:cpu,cpuacct:/x\n7:memory:/docker/1\n',
      '/sys/fs/cgroup/memory/memory.limit_in_bytes': '2000000000\n',
      '/sys/fs/cgroup/memory/memory.usage_in_bytes': '2100000000\n',
    };
    expect(of(files)).toEqual({ bytes: 0, totalBytes: 2_000_000_000, bound: 'the container' });
  });

  it('is not known where the system does not tell', () => {
    expect(of({})).toBeUndefined();
    expect(of({ '/proc/meminfo': 'nonsense' })).toBeUndefined();
  });
});
