import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LmdbOrderedStore } from '../../src/platform/node/LmdbOrderedStore.js';
import { type CollectionRef, DocumentStore, GarbageCollector, storageOptions, type Transaction } from '../../src/storage/index.js';
import { SleepingClock } from '../support/ManualClock.js';

// What is acknowledged is on the disk (R7), with real processes and file systems. The child runs the built product (dist/).

const script = join(import.meta.dirname, '../support/commitLoop.mjs');
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const run = (program: string, ...args: string[]) => spawnSync(program, args, { encoding: 'utf8' });
const works = (program: string, ...args: string[]): boolean => run(program, ...args).status === 0;

let folder: string;
/** Undone in reverse order, also after a failure. */
let cleanups: (() => void)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ostraka-durability-'));
  cleanups = [() => rmSync(folder, { recursive: true, force: true })];
});
afterEach(() => {
  for (const clean of cleanups.reverse()) clean();
});

interface Committer {
  readonly child: ChildProcess;
  readonly acknowledged: number[];
  /** Resolves when so many commits are acknowledged. */
  reach(count: number): Promise<void>;
  readonly closed: Promise<void>;
}

const startCommits = (storeFolder: string, inFlight: number, total = -1): Committer => {
  const child = spawn(process.execPath, [script, storeFolder, String(inFlight), String(total)], { stdio: ['ignore', 'pipe', 'inherit'] });
  cleanups.push(() => void child.kill('SIGKILL'));
  const acknowledged: number[] = [];
  let rest = '';
  let onAcknowledged: () => void = () => undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    acknowledged.push(...lines.map(Number));
    onAcknowledged();
  });
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const reach = (count: number): Promise<void> =>
    new Promise((resolve, reject) => {
      onAcknowledged = () => void (acknowledged.length >= count && resolve());
      closed.then(() => reject(new Error(`the committing process ended after ${acknowledged.length} commits`)), reject);
      onAcknowledged();
    });
  return { child, acknowledged, reach, closed };
};

/** Every acknowledged commit is there whole, and no commit is there by half. */
const expectAll = async (storeFolder: string, acknowledged: readonly number[]): Promise<void> => {
  const store = new LmdbOrderedStore({ folder: storeFolder, removeReserveBytes: 0 });
  try {
    const textAt = (name: string, number: number): string | undefined => {
      const bytes = store.get(bytesOf(`${name}/${number}`));
      return bytes && new TextDecoder().decode(bytes);
    };
    const missing = acknowledged.filter((number) => textAt('a', number) !== String(number).repeat(20));
    expect(missing).toEqual([]);
    const highest = Math.max(...acknowledged) + 100;
    for (let number = 0; number < highest; number++) expect(textAt('b', number)).toBe(textAt('a', number));
  } finally {
    await store.close();
  }
};

describe('kill -9 in the middle of commits', () => {
  it.each([
    [1, 30],
    [8, 100],
    [64, 400],
  ])('with %i in flight loses nothing that was acknowledged', async (inFlight, count) => {
    const commits = startCommits(folder, inFlight);
    await commits.reach(count);
    commits.child.kill('SIGKILL');
    await commits.closed;
    expect(commits.acknowledged.length).toBeGreaterThanOrEqual(count);
    await expectAll(folder, commits.acknowledged);
  });
});

/** Calls that wait for the disk: fsync, fdatasync, msync with MS_SYNC, writes to a file opened with O_DSYNC or O_SYNC. */
const countSyncs = (inFlight: number, total: number): number => {
  const [trace, storeFolder] = [join(folder, `trace-${inFlight}-${total}`), join(folder, `store-${inFlight}-${total}`)];
  mkdirSync(storeFolder);
  const calls = 'trace=openat,fsync,fdatasync,msync,pwrite64,pwritev,write,writev';
  const { status } = run(
    'strace',
    '-f',
    '-s',
    '0',
    '-e',
    calls,
    '-o',
    trace,
    process.execPath,
    script,
    storeFolder,
    String(inFlight),
    String(total),
  );
  expect(status).toBe(0);
  let syncs = 0;
  const synchronous = new Set<string>();
  for (const line of readFileSync(trace, 'utf8').split('\n')) {
    const opened = /openat\(.*O_(?:D)?SYNC.* = (\d+)$/.exec(line);
    if (opened?.[1]) synchronous.add(opened[1]);
    const called = /\b(fsync|fdatasync|msync|pwrite64|pwritev|write|writev)\((\w+)/.exec(line);
    if (called?.[1]?.includes('sync')) syncs++;
    else if (called?.[2] !== undefined && synchronous.has(called[2])) syncs++;
  }
  return syncs;
};
const whyNoStrace = works('strace', '-o', '/dev/null', 'true') ? undefined : 'strace is not installed or may not trace here';
if (whyNoStrace) process.stderr.write(`durability: counting syncs is skipped: ${whyNoStrace}\n`);

describe.skipIf(whyNoStrace !== undefined)('system calls', () => {
  it('every commit alone waits for at least one sync; concurrent ones share', () => {
    const commits = 40;
    const opening = countSyncs(1, 0);
    expect(countSyncs(1, commits) - opening).toBeGreaterThanOrEqual(commits);
    const shared = countSyncs(commits, commits) - opening;
    expect(shared).toBeGreaterThanOrEqual(1);
    expect(shared).toBeLessThan(commits);
  });
});

const mount = (...args: string[]): string => {
  const point = mkdtempSync(join(folder, 'mount-'));
  const mounted = run('mount', ...args, point);
  if (mounted.status !== 0) throw new Error(`mount ${args.join(' ')}: ${mounted.stderr}`);
  cleanups.push(() => void run('umount', '-l', point));
  return point;
};

/** A loop device that writes to its file past the page cache: what stands in the file is what a device was given. */
const attach = (image: string): string => {
  const attached = run('losetup', '--direct-io=on', '--find', '--show', image);
  if (attached.status !== 0) throw new Error(`losetup: ${attached.stderr}`);
  const device = attached.stdout.trim();
  cleanups.push(() => void run('losetup', '-d', device));
  return device;
};

const whyNoMount = ((): string | undefined => {
  if (process.getuid?.() !== 0) return 'it needs root for mount';
  if (!works('mkfs.ext4', '-V')) return 'mkfs.ext4 is not installed';
  const probe = mkdtempSync(join(tmpdir(), 'ostraka-probe-'));
  try {
    const image = join(probe, 'image');
    writeFileSync(image, '');
    truncateSync(image, 1024 * 1024);
    const attached = run('losetup', '--direct-io=on', '--find', '--show', image);
    if (attached.status !== 0) return `no loop device with direct I/O: ${attached.stderr.trim()}`;
    run('losetup', '-d', attached.stdout.trim());
    const mounted = run('mount', '-t', 'tmpfs', 'tmpfs', probe);
    if (mounted.status !== 0) return `mount is not allowed: ${mounted.stderr.trim()}`;
    run('umount', probe);
    return undefined;
  } finally {
    rmSync(probe, { recursive: true, force: true });
  }
})();
if (whyNoMount) process.stderr.write(`durability: power cut and full disk are skipped: ${whyNoMount}\n`);

describe.skipIf(whyNoMount !== undefined)('file systems of their own', () => {
  // An ext4 file system on a loop device with direct I/O. The writer is stopped and the image copied without unmounting or syncing: the
  // copy holds what the file system had handed to its device, and nothing that only stood in the page cache. That is a power cut as a
  // program sees it: a commit acknowledged without a sync would be missing, as the control file is. It does not show what a disk loses
  // that lies about flushes or reorders them in its own cache; that needs a device that records writes (dm-log-writes).
  it('a power cut loses nothing that was acknowledged, and does lose what was not synced', async () => {
    const image = join(folder, 'disk.img');
    writeFileSync(image, '');
    truncateSync(image, 96 * 1024 * 1024);
    expect(works('mkfs.ext4', '-q', '-F', image)).toBe(true);
    const point = mount(attach(image));
    const storeFolder = join(point, 'store');
    mkdirSync(storeFolder);
    const commits = startCommits(storeFolder, 8);
    await commits.reach(200);
    const control = openSync(join(point, 'control'), 'w');
    writeSync(control, 'x'.repeat(100_000));
    commits.child.kill('SIGSTOP');
    // What was written to the pipe before the stop is acknowledged; what comes after the copy is not counted.
    const acknowledged = [...commits.acknowledged];
    const copy = join(folder, 'copy.img');
    expect(works('cp', '--reflink=never', '--sparse=always', image, copy)).toBe(true);
    closeSync(control);
    commits.child.kill('SIGKILL');
    await commits.closed;

    const after = mount(attach(copy)); // replays the journal
    await expectAll(join(after, 'store'), acknowledged);
    expect(acknowledged.length).toBeGreaterThanOrEqual(200);
    const survived = existsSync(join(after, 'control')) ? readFileSync(join(after, 'control'), 'utf8') : '';
    expect(survived).not.toBe('x'.repeat(100_000));
  });

  it('a full disk refuses writes with STORE_FULL, goes on reading, and works again when there is room', async () => {
    const point = mount('-t', 'tmpfs', '-o', 'size=16m', 'tmpfs');
    const storeFolder = join(point, 'store');
    mkdirSync(storeFolder);
    writeFileSync(join(point, 'ballast'), new Uint8Array(8 * 1024 * 1024));
    const store = new LmdbOrderedStore({ folder: storeFolder, removeReserveBytes: 0 });
    cleanups.push(() => void store.close().catch(() => undefined));
    const put = (number: number) =>
      store.commit([{ kind: 'put', key: bytesOf(`k${number}`), value: new Uint8Array(200_000).fill(number) }]);
    let stored = 0;
    const filling = (async () => {
      for (; stored < 200; stored++) await put(stored);
    })();
    await expect(filling).rejects.toMatchObject({ code: 'STORE_FULL', retryable: true, httpStatus: 507 });
    expect(stored).toBeGreaterThan(3);
    await expect(put(stored)).rejects.toMatchObject({ code: 'STORE_FULL' });
    for (let number = 0; number < stored; number++) expect(store.get(bytesOf(`k${number}`))?.[0]).toBe(number);
    expect(store.get(bytesOf(`k${stored}`))).toBeUndefined();
    rmSync(join(point, 'ballast'));
    await put(stored);
    expect(store.get(bytesOf(`k${stored}`))?.[0]).toBe(stored);
    await store.close();
    const again = new LmdbOrderedStore({ folder: storeFolder, removeReserveBytes: 0 });
    expect(again.get(bytesOf(`k${stored}`))?.length).toBe(200_000);
    await again.close();
  });

  const books: CollectionRef = { database: 'd', name: 'books', id: 7, kind: 'document' };
  const { signal } = new AbortController();
  const reserve = 2 * 1024 * 1024;
  const openDocuments = (storeFolder: string) => {
    const store = new LmdbOrderedStore({ folder: storeFolder, removeReserveBytes: reserve });
    cleanups.push(() => void store.close().catch(() => undefined));
    const clock = new SleepingClock();
    const options = storageOptions.parse({ removeReserveBytes: reserve });
    const documents = DocumentStore.open({ store, clock, options });
    const garbage = new GarbageCollector({ store, rowsMax: 1000 });
    const collect = async (): Promise<void> => {
      await clock.advance(options.snapshotAgeFullMsMax + 1000);
      store.refreshRoom();
      for (let i = 0; i < 4; i++)
        await garbage.step({
          horizon: documents.advanceHorizon(),
          outcomesKeptAfter: documents.outcomesKeptAfter(),
          liveCollections: async () => new Set([books.id]),
          isBeingWritten: () => false,
        });
      store.refreshRoom();
    };
    let transactions = 0;
    const change = async (work: (transaction: Transaction) => unknown): Promise<void> => {
      const transaction = await documents.begin({ id: `t${transactions++}`, signal });
      work(transaction);
      await documents.commit(transaction, null, signal);
    };
    const insert = (number: number) => change((to) => to.insert(books, { _key: `k${number}`, text: 'x'.repeat(100_000) }));
    const remove = (number: number) => change((from) => from.remove(books, `k${number}`));
    const fill = async (): Promise<number> => {
      for (let stored = 0; stored < 1000; stored++) {
        const failure = await insert(stored).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure === undefined) continue;
        expect(failure).toMatchObject({ code: 'STORE_FULL', httpStatus: 507 });
        return stored;
      }
      throw new Error('the disk never filled');
    };
    return { clock, store, documents, collect, change, insert, remove, fill };
  };

  it('a store that its own writes filled takes removals, and writes again once old versions are collected', async () => {
    const storeFolder = join(mount('-t', 'tmpfs', '-o', 'size=16m', 'tmpfs'), 'store');
    mkdirSync(storeFolder);
    const { clock, store, documents, collect, change, insert, remove, fill } = openDocuments(storeFolder);
    const stored = await fill();
    expect(stored).toBeGreaterThan(30);
    expect(documents.isFull).toBe(true);
    // The figures by which a user of a small disk understands it: some is free, and is not enough.
    const { freeBytes, neededBytes } = documents.shortage as { readonly freeBytes: number; readonly neededBytes: number };
    expect([freeBytes > 0, freeBytes < neededBytes]).toEqual([true, true]);
    await expect(insert(stored)).rejects.toMatchObject({
      code: 'STORE_FULL',
      message: expect.stringMatching(/\d+\.\d MB free, writes need \d+\.\d MB/),
      data: { neededBytes },
    });
    await expect(change((to) => to.update(books, 'k0', { n: 1 }, { keepNull: true, mergeObjects: true }))).rejects.toMatchObject({
      code: 'STORE_FULL',
    });
    let removed = 0;
    for (let round = 0; removed < stored && round < 100; round++) {
      // The reserve holds so many old versions at a time; collecting them makes room for the next.
      for (let i = 0; i < 10 && removed < stored; i++) await remove(removed++);
      await collect();
    }
    expect(removed).toBe(stored);
    expect([documents.isFull, store.isFull, documents.shortage]).toEqual([false, false, undefined]);
    for (let number = 0; number < 10; number++) await insert(number);
    // With room again, versions are kept as long as ever.
    await clock.advance(600_000);
    await collect();
    for (let number = 10; number < stored / 2; number++) await insert(number);
  });

  it('a disk that somebody else filled gives removals the reserve, also after a restart, and all is well when there is room', async () => {
    const point = mount('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs');
    const storeFolder = join(point, 'store');
    mkdirSync(storeFolder);
    const first = openDocuments(storeFolder);
    for (let number = 0; number < 20; number++) await first.insert(number);
    run('dd', 'if=/dev/zero', `of=${join(point, 'other')}`, 'bs=4k'); // until it ends for want of room
    first.store.refreshRoom();
    expect(first.documents.isFull).toBe(true);
    await expect(first.insert(20)).rejects.toMatchObject({ code: 'STORE_FULL' });
    await first.remove(0);
    await first.store.close();
    const { documents, store, insert, remove } = openDocuments(storeFolder);
    expect(documents.isFull).toBe(true);
    await expect(insert(20)).rejects.toMatchObject({ code: 'STORE_FULL' });
    await remove(1);
    rmSync(join(point, 'other'));
    await insert(20);
    expect(store.isFull).toBe(false);
    expect(existsSync(join(storeFolder, 'reserve'))).toBe(true);
  });
});
