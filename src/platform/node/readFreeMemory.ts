import type { FreeMemory } from '../index.js';

type ReadText = (path: string) => string | undefined;

/** What control groups of either version call things. */
const versions = [
  { root: '/sys/fs/cgroup', line: /^0::(.*)$/m, limit: 'memory.max', used: 'memory.current', idle: /^inactive_file (\d+)$/m },
  {
    root: '/sys/fs/cgroup/memory',
    line: /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m,
    limit: 'memory.limit_in_bytes',
    used: 'memory.usage_in_bytes',
    idle: /^total_inactive_file (\d+)$/m,
  },
];
const depthMax = 32;

/**
 * The least of what the machine has available and what each control group above this process leaves. Pages of files that nobody uses are
 * counted as free. `readText` gives undefined for a file that is not there. Undefined where /proc/meminfo is not.
 */
export function readFreeMemory(readText: ReadText): FreeMemory | undefined {
  const kilobytes = (name: string): number | undefined => numberIn(readText('/proc/meminfo'), new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm'));
  const [available, total] = [kilobytes('MemAvailable'), kilobytes('MemTotal')];
  if (available === undefined || total === undefined) return undefined;
  const groups = readText('/proc/self/cgroup') ?? '';
  const bounds = versions.flatMap((version) =>
    foldersOf(version.line.exec(groups)?.[1]).flatMap((folder) => freeIn(`${version.root}${folder}`, version, readText) ?? []),
  );
  const machine = { bytes: available * 1024, totalBytes: total * 1024, bound: 'the machine' };
  return bounds.reduce((least, one) => (one.bytes < least.bytes ? one : least), machine);
}

/** A group and those above it: each may have a limit. Inside a container its own group is often mounted as the root. */
const foldersOf = (group: string | undefined): readonly string[] => {
  if (group === undefined) return [];
  const names = group.split('/').filter((name) => name !== '');
  return Array.from({ length: Math.min(names.length, depthMax) + 1 }, (_, i) =>
    names
      .slice(0, names.length - i)
      .map((name) => `/${name}`)
      .join(''),
  );
};

const freeIn = (folder: string, version: (typeof versions)[number], readText: ReadText): FreeMemory | undefined => {
  const limit = numberIn(readText(`${folder}/${version.limit}`), /^(\d+)\s*$/);
  const used = numberIn(readText(`${folder}/${version.used}`), /^(\d+)\s*$/);
  if (limit === undefined || used === undefined) return undefined;
  const idle = numberIn(readText(`${folder}/memory.stat`), version.idle) ?? 0;
  return { bytes: Math.max(0, limit - used + idle), totalBytes: limit, bound: 'the container' };
};

const numberIn = (text: string | undefined, form: RegExp): number | undefined => {
  const found = text === undefined ? null : form.exec(text);
  return found === null ? undefined : Number(found[1]);
};
