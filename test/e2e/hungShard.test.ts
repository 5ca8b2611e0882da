import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareShards } from '../../src/cli/up/prepareShards.js';
import { type ReadyShard, type ShardEvent, ShardProcesses } from '../../src/cli/up/ShardProcesses.js';
import { shardProcessOptions } from '../../src/cli/up/shardProcessOptions.js';
import { testModels } from '../integration/engine/testModels.js';
import { freePortBlock } from '../support/freePortBlock.js';
import { isRunning } from '../support/isRunning.js';
import { LocalCluster } from '../support/LocalCluster.js';

const shards = 2;
const documents = 40;

/** JSON in, JSON out; undefined when the shard does not answer in time or answers with an error. */
const ask = async <Answer>(url: string, method: string, path: string, body?: object): Promise<Answer | undefined> => {
  const headers = { 'content-type': 'application/json' };
  const init = { method, headers, signal: AbortSignal.timeout(5_000), ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
  const answer = await fetch(`${url}${path}`, init).catch(() => undefined);
  return answer?.ok ? ((await answer.json()) as Answer) : undefined;
};

describe('a shard that hangs', () => {
  let dataFolder: string;
  let processes: ShardProcesses;
  let ready: readonly ReadyShard[];
  const events: ShardEvent[] = [];
  const urlOf = (index: number): string => (ready[index] as ReadyShard).httpUrl;
  const query = (index: number, text: string, bindVars: object) =>
    ask<{ readonly result: readonly number[] }>(urlOf(index), 'POST', '/_api/cursor', { query: text, bindVars });

  beforeAll(async () => {
    dataFolder = await mkdtemp(join(tmpdir(), 'ostraka-hung-'));
    const models = testModels();
    const prepared = await prepareShards(
      {
        shards,
        dataFolder,
        port: await freePortBlock(shards),
        model: models.chat.name,
        embeddingModel: models.embedding.name,
        embedding: {},
        hub: undefined,
        served: [],
        memoryBudgetBytes: undefined,
        idleUnloadMs: 0,
        adapters: [],
        adapterFolder: undefined,
        sequences: 2,
        contextTokens: 512,
        openai: undefined,
        gpuLayers: 0,
        checksMemory: true,
        acceptEmptyStore: false,
        withSample: false,
        isJson: true,
        recordFramesFolder: undefined,
      },
      { ...models, served: [], memory: undefined },
    );
    const options = shardProcessOptions.parse({ probeIntervalMs: 200, probeTimeoutMs: 500, probesMissedMax: 6 });
    processes = new ShardProcesses({ options, mainPath: 'dist/src/cli/main.js', onEvent: (event) => events.push(event) });
    ready = await processes.start(prepared);
  });
  afterAll(async () => {
    await processes?.stop();
    await rm(dataFolder, { recursive: true, force: true });
  });

  it('is killed after the missed probes and started again, its engine gone with it and every acknowledged document there', async () => {
    await LocalCluster.until(() => ask(urlOf(0), 'POST', '/_api/collection', { name: 'kept' }), 20_000);
    const keys = Array.from({ length: documents }, (_, i) => `key-${i}`);
    expect(await query(0, 'FOR key IN @keys INSERT {_key: key} INTO kept', { keys })).toBeDefined();
    const hung = ready[1] as ReadyShard;
    process.kill(hung.pid, 'SIGSTOP');
    await LocalCluster.until(() => events.find(({ kind }) => kind === 'shard-lost'), 20_000);
    expect(events.find(({ kind }) => kind === 'shard-lost')).toMatchObject({
      shardId: 'shard-1',
      reason: expect.stringContaining('SIGKILL'),
    });
    expect(isRunning(hung.pid)).toBe(false);
    const again = await LocalCluster.until(
      () => events.find((event) => event.kind === 'shard-ready' && event.shard.shardId === 'shard-1' && event.shard.pid !== hung.pid),
      60_000,
    );
    expect(again.kind).toBe('shard-ready');
    await LocalCluster.until(() => (isRunning(hung.enginePid) ? undefined : true), 2_000);
    for (const index of [0, 1]) {
      const counted = await LocalCluster.until(() => query(index, 'FOR d IN kept COLLECT WITH COUNT INTO n RETURN n', {}), 20_000);
      expect(counted.result).toEqual([documents]);
    }
  });

  it('is left alone when it only works: the other shard answered all probes', () => {
    expect(events.filter((event) => event.kind === 'shard-lost' && event.shardId === 'shard-0')).toEqual([]);
  });
});
