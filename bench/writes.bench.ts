// Claim (R7): a document write is answered after its fsync, and concurrent writers share one: 64 writers write many times as fast as
// one. DocumentStore on LMDB with checksums and reserve, as a shard has it, in a temporary folder, 400-byte documents, every commit acknowledged durable. The alternative of 64
// writers is one writer on the same disk in the same process, run by run in turn.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChecksummedStore } from '../src/platform/index.js';
import { LmdbOrderedStore, NodeClock } from '../src/platform/node/index.js';
import { DocumentStore, storageOptions } from '../src/storage/index.js';
import type { BenchResult } from './BenchResult.js';
import { measured } from './measured.js';

const collection = { database: 'bench', name: 'items', id: 1, kind: 'document' as const };
const filler = 'x'.repeat(330);

export async function writesBench(options: { readonly quick: boolean }): Promise<BenchResult[]> {
  const { runs, seconds } = options.quick ? { runs: 3, seconds: 1 } : { runs: 10, seconds: 3 };
  const folder = await mkdtemp(join(tmpdir(), 'ostraka-bench-'));
  const storage = storageOptions.parse({});
  const store = new ChecksummedStore(new LmdbOrderedStore({ folder, removeReserveBytes: storage.removeReserveBytes }));
  const documents = DocumentStore.open({ store, clock: new NodeClock(), options: storage });
  const rates = new Map<number, number[]>([
    [1, []],
    [64, []],
  ]);
  try {
    for (let run = -1; run < runs; run++) {
      for (const [writers, values] of rates) {
        const rate = await writesPerSecond(documents, { writers, seconds, prefix: `r${run}w${writers}` });
        if (run >= 0) values.push(rate);
      }
    }
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
  const one = [...(rates.get(1) ?? [])].sort((left, right) => left - right)[Math.floor(runs / 2)] ?? 1;
  return [...rates].map(([writers, values]) =>
    measured({
      name: `fsynced document writes, ${writers} ${writers === 1 ? 'writer' : 'writers'}`,
      metric: 'acknowledged writes',
      unit: '1/s',
      values,
      against: 'one writer, same disk and process',
      ratioOf: (median) => median / one,
    }),
  );
}

const writesPerSecond = async (
  documents: DocumentStore,
  given: { readonly writers: number; readonly seconds: number; readonly prefix: string },
): Promise<number> => {
  const { signal } = new AbortController();
  const endMs = performance.now() + given.seconds * 1000;
  let written = 0;
  const writer = async (name: number): Promise<void> => {
    for (let i = 0; performance.now() < endMs; i++) {
      const id = `${given.prefix}-${name}-${i}`;
      const transaction = await documents.begin({ id, signal });
      transaction.insert(collection, { _key: id, filler });
      await documents.commit(transaction, null, signal);
      written++;
    }
  };
  await Promise.all(Array.from({ length: given.writers }, (_, name) => writer(name)));
  return written / given.seconds;
};
