import { beforeEach, expect, it } from 'vitest';
import { openToyEngine } from '../../../sim/engine/index.js';
import { ScriptedTransport } from '../../../test/support/ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from '../../../test/support/silentPorts.js';
import { topologyMember } from '../../../test/support/topologyMember.js';
import { asId, type ShardId } from '../../base/index.js';
import type { TopologyView } from '../../membership/index.js';
import { type GenerateRequest, type OutgoingCall, type PrefixExchange, plainSampling, platformError } from '../../platform/index.js';
import { NodeRandom } from '../../platform/node/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer, rpcOptions } from '../../rpc/index.js';
import { declareCooperationMetrics } from '../metrics.js';
import { cooperationOptions } from '../options.js';
import { PrefixFetcher } from './PrefixFetcher.js';
import { prefixMethods } from './prefixMethods.js';

const [here, there] = [asId<ShardId>('here'), asId<ShardId>('there')];
const { signal } = new AbortController();
const long = `${'What the harbour office keeps of every ship that comes in. '.repeat(12)} Who keeps the log?`;
const request = (content: string): GenerateRequest => ({
  requestId: 'r',
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: { ...plainSampling, tokensMax: 12 },
  priority: 'normal',
});

const openEngine = (contextTokens = 1024) =>
  openToyEngine({ sequences: 2, contextTokens, queueRequestsMax: 8, random: new NodeRandom(), logger: new EventLog(), script: [] });

type Toy = ReturnType<typeof openEngine>;

async function answer({ engine }: Toy, asked: GenerateRequest) {
  let text = '';
  for await (const event of engine.generate(asked, signal)) {
    if (event.kind === 'text') text += event.text;
    if (event.kind === 'finished') return { text, cachedTokens: event.usage.cachedTokens };
  }
  throw new Error('no end');
}

let [own, holder] = [undefined, undefined] as unknown as [Toy, Toy];
let transport: ScriptedTransport;
let outcomes: string[];

/** A fetcher on `own` that may ask the holder, whose answers pass through `wire`. */
function open(
  wire: (frames: AsyncIterable<Uint8Array>, call: OutgoingCall) => AsyncIterable<Uint8Array> = (frames) => frames,
  local?: PrefixExchange,
) {
  const { clock } = own;
  const options = cooperationOptions.parse({ prefixPieceBytes: 4096 });
  const rpc = {
    clock,
    logger: new EventLog(),
    metrics: declareRpcMetrics(silentMetrics),
    timestamps: { last: () => 1, observe: () => undefined },
  };
  const server = new RpcServer({ ...rpc, options: rpcOptions.parse({}) });
  const peers = { find: () => ({ address: { host: 'h', port: 1 }, incarnation: 1 }) };
  transport = new ScriptedTransport((call) => wire(server.handle({ ...call, peerShardId: here }), call));
  const executor = new RemoteExecutor({
    ...rpc,
    selfShardId: here,
    transport,
    server,
    peers,
    random: new CountingRandom(),
    options: rpcOptions.parse({}),
  });
  outcomes = [];
  const metrics = {
    ...declareCooperationMetrics(silentMetrics),
    prefixTransfers: { add: (_: number, { outcome = '' }: { outcome?: string } = {}) => outcomes.push(outcome) },
  };
  const topology = (): TopologyView => ({
    epoch: 1,
    selfShardId: here,
    members: [topologyMember(here), topologyMember(there, { load: holder.engine.load() })],
  });
  const fetcher = new PrefixFetcher({
    local: local ?? own.engine.prefixes,
    executor,
    topology,
    clock,
    logger: new EventLog(),
    metrics,
    options,
  });
  server.register(prefixMethods({ local: holder.engine.prefixes, fetcher, options }));
  return fetcher;
}

beforeEach(async () => {
  [own, holder] = [openEngine(), openEngine()];
  await answer(holder, request(long));
  await answer(own, request('something else, so that a prompt was measured')); // what a prompt costs is known
});

it('brings the rows of a prompt from the shard that has computed them: fewer are computed, the text is the same', async () => {
  const cold = await answer(openEngine(), request(long));
  await open().prepare(request(long), signal);
  expect(outcomes).toEqual(['moved']);
  const warm = await answer(own, request(long));
  expect(warm.text).toBe(cold.text);
  expect(warm.cachedTokens).toBeGreaterThan(600);
  own.engine.figures();
});

it('tells who has rows of a prompt, itself among them, and asks nobody for that', async () => {
  const fetcher = open();
  const before = await fetcher.tokensOf(request(long), signal);
  expect([...before.keys()]).toEqual([there]);
  expect(before.get(there)).toBeGreaterThan(600);
  expect((await fetcher.tokensOf(request('short'), signal)).size).toBe(0);
  expect((await fetcher.tokensOf(request(long.repeat(9)), signal)).size).toBe(0); // longer than the context: refused later
  expect(transport.calls).toEqual([]);
  await fetcher.prepare(request(long), signal);
  expect([...(await fetcher.tokensOf(request(long), signal)).keys()]).toEqual([there, here]);
});

it('asks nobody for what is here, for a short prompt, and for one that nobody holds', async () => {
  const fetcher = open();
  for (const content of ['short', `another beginning. ${long}`]) await fetcher.prepare(request(content), signal);
  await fetcher.prepare(request(long), signal);
  await fetcher.prepare(request(long), signal);
  expect(transport.calls).toHaveLength(1);
});

it('asks once for what several requests want at the same moment', async () => {
  const fetcher = open();
  await Promise.all([1, 2, 3].map(() => fetcher.prepare(request(long), signal)));
  expect(transport.calls).toHaveLength(1);
  expect(outcomes).toEqual(['moved']);
});

it('computes the prompt, and says why, when rows arrive changed, cut, in another order or from another kind of engine', async () => {
  const cold = await answer(openEngine(), request(long));
  const changed = (place: number) =>
    async function* (frames: AsyncIterable<Uint8Array>) {
      let count = 0;
      for await (const frame of frames) {
        if (count++ === place) frame[frame.length >> 1] = (frame[frame.length >> 1] as number) ^ 1;
        yield frame;
      }
    };
  async function* swapped(frames: AsyncIterable<Uint8Array>) {
    const all: Uint8Array[] = [];
    for await (const frame of frames) all.push(frame);
    [all[1], all[2]] = [all[2] as Uint8Array, all[1] as Uint8Array];
    yield* all;
  }
  for (const wire of [changed(0), changed(1), changed(2), swapped]) {
    await open(wire).prepare(request(long), signal);
    expect(outcomes).toEqual(['damaged']);
  }
  own = openEngine(2048);
  await answer(own, request('something else, so that a prompt was measured'));
  await open().prepare(request(long), signal);
  expect(outcomes).toEqual([]); // its digests are others: it does not even ask
  expect(await answer(own, request(long))).toEqual({ ...cold, cachedTokens: 0 });
});

it('goes on where a lost connection has left it', async () => {
  const offsets: unknown[] = [];
  async function* cutOnce(frames: AsyncIterable<Uint8Array>, call: OutgoingCall) {
    offsets.push(JSON.parse(new TextDecoder().decode(call.body)).offset);
    let count = 0;
    for await (const frame of frames) {
      if (offsets.length === 1 && count++ === 3) throw platformError('TRANSPORT_LOST', 'the connection broke');
      yield frame;
    }
  }
  await open(cutOnce).prepare(request(long), signal);
  expect(offsets).toEqual([0, 8192]);
  expect(outcomes).toEqual(['moved']);
  expect((await answer(own, request(long))).cachedTokens).toBeGreaterThan(600);
});

it('goes on in a later request where an earlier one gave up', async () => {
  async function* cut(frames: AsyncIterable<Uint8Array>) {
    let count = 0;
    for await (const frame of frames) {
      if (count++ === 3) throw platformError('KV_PREFIX_UNKNOWN', 'gone');
      yield frame;
    }
  }
  await open(cut).prepare(request(long), signal);
  expect(outcomes).toEqual(['gone']);
  await open().prepare(request(long), signal);
  expect(outcomes).toEqual(['moved']);
  const offsets = transport.calls.map(({ body }) => JSON.parse(new TextDecoder().decode(body)).offset);
  expect(offsets).toEqual([0, 8192]);
});

it('gives up a move that takes longer than it saves, and counts it', async () => {
  async function* slow(frames: AsyncIterable<Uint8Array>) {
    for await (const frame of frames) {
      await own.clock.sleep(250, signal);
      yield frame;
    }
  }
  const fetcher = open(slow);
  const beganMs = own.clock.monotonicMs();
  await fetcher.prepare(request(long), signal);
  expect(outcomes).toEqual(['too_slow']);
  expect(own.clock.monotonicMs() - beganMs).toBeLessThan(1_200); // computing 700 rows of 1.5 ms
  await own.clock.sleep(1, signal); // what was given up has ended
  await fetcher.prepare(request(long), signal);
  expect(outcomes).toEqual(['too_slow', 'slower']); // it has learnt
});

it('ends with its request alone', async () => {
  const abort = new AbortController();
  async function* never() {
    await new Promise(() => undefined);
    yield new Uint8Array(0);
  }
  const preparing = open(never).prepare(request(long), abort.signal);
  abort.abort(platformError('ENGINE_LOST', 'the caller is gone'));
  await expect(preparing).rejects.toThrow('the caller is gone');
});
