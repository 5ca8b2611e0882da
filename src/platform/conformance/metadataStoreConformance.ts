import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { MetadataChange, MetadataStore } from '../index.js';

export interface MetadataStoreSubject {
  readonly name: string;
  /** Two handles of one new, empty store, as two processes have them. */
  readonly open: () => Promise<readonly [MetadataStore, MetadataStore]>;
  /** Lets so much time of the store pass. */
  readonly pass: (ms: number) => Promise<void>;
  readonly dispose: (stores: readonly MetadataStore[]) => Promise<void>;
}

const put = (key: string, value: string, leaseId?: string) => ({
  kind: 'put' as const,
  key,
  value,
  ...(leaseId === undefined ? {} : { leaseId }),
});
const putAlways = (store: MetadataStore, key: string, value: string, leaseId?: string) =>
  store.transact({ conditions: [], operations: [put(key, value, leaseId)] });

/** What every MetadataStore keeps. */
export function metadataStoreConformance({ name, open, pass, dispose }: MetadataStoreSubject): void {
  describe(`MetadataStore: ${name}`, () => {
    let first: MetadataStore;
    let second: MetadataStore;
    beforeEach(async () => {
      [first, second] = await open();
    });
    afterEach(() => dispose([first, second]));

    it('shows one handle what another has written', async () => {
      await putAlways(first, 'a/1', 'one');
      expect(await second.read('a/1')).toMatchObject({ key: 'a/1', value: 'one' });
      expect(await second.read('a/2')).toBeUndefined();
    });

    it('lists a prefix by key, and nothing that only looks like it', async () => {
      for (const key of ['b/2', 'b/1', 'b', 'ba', 'a/1']) await putAlways(first, key, key);
      expect((await second.list('b/')).map(({ key }) => key)).toEqual(['b/1', 'b/2']);
      expect((await second.list('')).map(({ key }) => key)).toEqual(['a/1', 'b', 'b/1', 'b/2', 'ba']);
    });

    it('changes all or nothing, by the revisions of keys', async () => {
      expect(await first.transact({ conditions: [{ key: 'k', revision: 0 }], operations: [put('k', '1'), put('l', '1')] })).toMatchObject({
        committed: true,
      });
      expect(await second.transact({ conditions: [{ key: 'k', revision: 0 }], operations: [put('k', '2'), put('l', '2')] })).toMatchObject({
        committed: false,
      });
      const { revision } = (await second.read('k')) ?? { revision: -1 };
      const both = { conditions: [{ key: 'k', revision }], operations: [put('k', '3'), { kind: 'delete' as const, key: 'l' }] };
      expect(await second.transact(both)).toMatchObject({ committed: true });
      expect([(await first.read('k'))?.value, await first.read('l')]).toEqual(['3', undefined]);
      expect(await first.transact(both)).toMatchObject({ committed: false });
    });

    it('lets one of many win who create the same key', async () => {
      const attempts = Array.from({ length: 8 }, (_, i) =>
        (i % 2 === 0 ? first : second).transact({ conditions: [{ key: 'once', revision: 0 }], operations: [put('once', String(i))] }),
      );
      expect((await Promise.all(attempts)).filter(({ committed }) => committed)).toHaveLength(1);
    });

    it('gives revisions that grow with every change', async () => {
      const before = await first.revision();
      await putAlways(first, 'a', '1');
      const created = await first.read('a');
      await putAlways(second, 'b', '1');
      expect(created?.revision).toBeGreaterThan(before);
      expect(await second.revision()).toBeGreaterThan(created?.revision ?? Number.POSITIVE_INFINITY);
      expect(await first.read('a')).toEqual(created);
    });

    it('deletes the keys of a lease that is not renewed', async () => {
      const leaseId = await first.grantLease(400);
      await putAlways(first, 'leased', 'x', leaseId);
      await putAlways(first, 'free', 'x');
      await pass(250);
      expect(await first.renewLease(leaseId)).toBe(true);
      await pass(250);
      expect(await second.read('leased')).toMatchObject({ value: 'x' });
      await pass(600);
      expect(await second.read('leased')).toBeUndefined();
      expect(await first.renewLease(leaseId)).toBe(false);
      expect(await second.read('free')).toMatchObject({ value: 'x' });
    });

    it('deletes the keys of a revoked lease at once', async () => {
      const leaseId = await first.grantLease(60_000);
      await putAlways(first, 'leased', 'x', leaseId);
      await first.revokeLease(leaseId);
      expect(await second.list('')).toEqual([]);
      expect(await second.renewLease(leaseId)).toBe(false);
    });

    it('watches the changes of a prefix in order, from a revision on', async () => {
      await putAlways(first, 'w/0', 'before');
      const from = await second.revision();
      const stop = new AbortController();
      const seen: MetadataChange[] = [];
      const watching = (async () => {
        for await (const change of second.watch('w/', from, stop.signal)) seen.push(change);
      })();
      await putAlways(first, 'w/1', 'one');
      await putAlways(first, 'elsewhere', 'x');
      await pass(200);
      await first.transact({ conditions: [], operations: [put('w/2', 'two'), { kind: 'delete', key: 'w/1' }] });
      await pass(200);
      stop.abort();
      await pass(200);
      await watching;
      expect(seen.map(({ kind, key, value }) => `${kind} ${key} ${value}`)).toEqual(['put w/1 one', 'put w/2 two', 'delete w/1 ']);
      expect(seen.every(({ revision }, i) => revision > (seen[i - 1]?.revision ?? from))).toBe(true);
    });

    it('refuses everything once it is closed', async () => {
      await first.close();
      await first.close();
      await expect(first.read('a')).rejects.toMatchObject({ code: 'METADATA_UNAVAILABLE' });
      await expect(putAlways(first, 'a', '1')).rejects.toMatchObject({ code: 'METADATA_UNAVAILABLE' });
      expect(await second.read('a')).toBeUndefined();
    });
  });
}
