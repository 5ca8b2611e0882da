import { beforeEach, describe, expect, it } from 'vitest';
import { FakeModelService, finished } from '../../test/support/FakeModelService.js';
import { ManualClock, settle } from '../../test/support/ManualClock.js';
import { ScriptedTransport } from '../../test/support/ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { measuredAdapter, topologyMember } from '../../test/support/topologyMember.js';
import { asId, baseError, type ShardId } from '../base/index.js';
import type { TopologyMember } from '../membership/index.js';
import { type GenerateEvent, type GenerateRequest, type OutgoingCall, plainSampling, platformError } from '../platform/index.js';
import { rpcFrame } from '../protocol/index.js';
import { AdaptiveShardRouter, Reservations, routingOptions } from '../routing/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer, rpcOptions } from '../rpc/index.js';
import { assignSlots, ConsistentHashRing } from '../sharding/index.js';
import { ClusterModelService } from './ClusterModelService.js';
import type { BatchResult, ClusterEvent, ClusterRequest } from './ClusterRequest.js';
import { declareCooperationMetrics } from './metrics.js';
import { modelMethods } from './modelMethods.js';
import { cooperationOptions } from './options.js';
import { RequestRouter } from './RequestRouter.js';

const options = cooperationOptions.parse({});
const { signal } = new AbortController();
const [s1, s2, s3] = ['s1', 's2', 's3'].map((id) => asId<ShardId>(id)) as [ShardId, ShardId, ShardId];
const digest = 'c'.repeat(64);
const sampling = { ...plainSampling, tokensMax: 4 };
const request = (content: string, changes: Partial<ClusterRequest> = {}): ClusterRequest => ({
  requestId: content,
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling,
  priority: 'normal',
  timeoutMs: 60_000,
  ...changes,
});
const member = (shardId: ShardId, accuracyDelta: number): TopologyMember =>
  topologyMember(shardId, { announcements: [measuredAdapter(accuracyDelta, { shardId, adapterDigest: digest })] });

type Script = (call: OutgoingCall) => AsyncIterable<Uint8Array>;
const text = (words: string): GenerateEvent => ({ kind: 'text', text: words, tokens: 1 });
const lost = platformError('TRANSPORT_LOST', 'lost');

let clock: ManualClock;
let members: TopologyMember[];
let scripts: Map<ShardId, Script>;
let models: FakeModelService;
let transport: ScriptedTransport;
let service: ClusterModelService;
let reservations: Reservations;
let unreachable: string[];

beforeEach(() => {
  clock = new ManualClock();
  members = [member(s1, 0.9), member(s2, 0.85), member(s3, 0.82)];
  unreachable = [];
  reservations = new Reservations();
  models = new FakeModelService(async function* ({ messages }) {
    yield { kind: 'admitted', promptTokens: 1 };
    yield text(`${messages[0]?.content}!`);
    yield finished;
  });
  const logger = new EventLog();
  const rpc = { clock, logger, metrics: declareRpcMetrics(silentMetrics), timestamps: { last: () => 1, observe: () => undefined } };
  const server = new RpcServer({ ...rpc, options: rpcOptions.parse({}) });
  server.register(modelMethods({ modelService: models, prefixes: { prepare: async () => undefined }, clock, options }));
  const honest: Script = (call) => server.handle({ ...call, peerShardId: asId<ShardId>('s0') });
  scripts = new Map([s1, s2, s3].map((id) => [id, honest]));
  transport = new ScriptedTransport((call) => (scripts.get(call.peer.shardId) as Script)(call));
  const executor = new RemoteExecutor({
    ...rpc,
    selfShardId: asId<ShardId>('s0'),
    transport,
    server,
    peers: { find: () => ({ address: { host: 'h', port: 1 }, incarnation: 1 }) },
    random: new CountingRandom(),
    options: rpcOptions.parse({}),
  });
  const metrics = declareCooperationMetrics(silentMetrics);
  const ring = ConsistentHashRing.of(1, assignSlots([s1, s2, s3]));
  const router = new RequestRouter({
    router: new AdaptiveShardRouter(routingOptions.parse({})),
    reservations,
    topology: () => ({ epoch: 1, selfShardId: asId<ShardId>('s0'), members }),
    ring: () => ring,
    executor,
    progress: () => ({ phase: 'chat model', percent: 40 }),
    retryAfterSeconds: 2,
    clock,
    metrics,
  });
  const onUnreachable = (id: ShardId, refused: boolean): void => void unreachable.push(`${id} ${refused}`);
  service = new ClusterModelService({
    router,
    executor,
    local: models,
    clock,
    logger,
    metrics,
    options,
    onUnreachable,
    prefixes: { tokensOf: async () => new Map() },
  });
});

/** An answer that yields events and then fails, hangs or is cut. */
const answering = (events: readonly unknown[], end: 'hang' | 'cut' | Error = 'hang'): Script =>
  async function* (call) {
    for (const event of events) yield rpcFrame.encode({ kind: 'json', value: event as never });
    if (end === 'hang') await new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason)));
    if (end instanceof Error) throw end;
  };
const law = (content: string, changes: Partial<ClusterRequest> = {}) => request(content, { domain: 'law', ...changes });
const read = async (one: ClusterRequest): Promise<{ events: ClusterEvent[]; error: { code: string } | undefined }> => {
  const events: ClusterEvent[] = [];
  try {
    for await (const event of service.generate(one, signal)) events.push(event);
    return { events, error: undefined };
  } catch (error) {
    return { events, error: error as { code: string } };
  }
};
const routesOf = (events: readonly ClusterEvent[]) => events.flatMap((event) => (event.kind === 'routed' ? [event.routing.shardId] : []));
const nothingReserved = () => expect([s1, s2, s3].map((id) => reservations.of(id))).toEqual([0, 0, 0]);

describe('one request', () => {
  it('is answered by the best shard, with its adapter', async () => {
    const answer = await service.answer(law('hi'), signal);
    expect(answer).toMatchObject({
      text: 'hi!',
      finishReason: 'stop',
      routing: { shardId: s1, decision: 'domain', adapter: { digest, scale: 1 } },
    });
    expect(models.requests[0]?.adapter).toEqual({ digest, scale: 1 });
    nothingReserved();
    expect(clock.timers).toBe(0);
  });

  it.each([
    ['a lost shard', answering([{ kind: 'admitted', promptTokens: 1 }], lost), ['s1 false']],
    ['a refusing shard', answering([], platformError('TRANSPORT_REFUSED', 'no')), ['s1 true']],
    ['a cut-off answer', answering([{ kind: 'progress' }], 'cut'), ['s1 false']],
  ])('goes to the next-best after %s that sent no text', async (_, script, told) => {
    scripts.set(s1, script);
    const { events, error } = await read(law('hi'));
    expect([error, routesOf(events), unreachable]).toEqual([undefined, [s1, s2], told]);
    nothingReserved();
  });

  it('says that there is no such adapter where one is named that nobody announces', async () => {
    const { error } = await read(law('hi', { domain: 'nope', route: { fallback: 'fail', isNamed: true } }));
    expect(error).toMatchObject({ code: 'ADAPTER_UNKNOWN', message: expect.stringContaining('"nope"') });
  });

  it('ends with the reason of the last shard that was asked where no other is left, alone and in a batch', async () => {
    members = [member(s1, 0.9)];
    models.answer = async function* () {
      yield* [];
      throw baseError('QUEUE_FULL', '128 requests wait for the engine already');
    };
    expect((await read(law('hi'))).error).toMatchObject({ code: 'QUEUE_FULL', httpStatus: 429 });
    const { results } = service.generateBatch([law('hi')], signal);
    const outcomes = [];
    for await (const { outcome } of results) outcomes.push(outcome);
    expect(outcomes).toMatchObject([{ kind: 'error', error: { code: 'QUEUE_FULL' } }]);
    nothingReserved();
  });

  it('ends with STREAM_INTERRUPTED when its shard is lost after text, and is not restarted', async () => {
    scripts.set(s1, answering([{ kind: 'admitted', promptTokens: 1 }, text('He')], lost));
    const { events, error } = await read(law('hi'));
    expect([error?.code, routesOf(events), transport.calls.length]).toEqual(['STREAM_INTERRUPTED', [s1], 1]);
  });

  it('is tried on two shards at most, and not again for what is wrong everywhere', async () => {
    const honest = scripts.get(s3) as Script;
    for (const id of [s1, s2]) scripts.set(id, answering([], lost));
    expect((await read(law('hi'))).error?.code).toBe('SHARD_UNAVAILABLE');
    models.answer = async function* () {
      yield { kind: 'progress' };
      throw platformError('CONTEXT_LENGTH_EXCEEDED', 'long', { data: { promptTokens: 9 } });
    };
    for (const id of [s1, s2]) scripts.set(id, honest);
    transport.calls.length = 0;
    expect((await read(request('hi'))).error).toMatchObject({ code: 'CONTEXT_LENGTH_EXCEEDED', data: { promptTokens: 9 } });
    expect(transport.calls.length).toBe(1);
  });

  it('moves on when it is not admitted within admissionTimeoutMs, and when the work goes silent', async () => {
    for (const [events, silentMs] of [
      [[], options.admissionTimeoutMs],
      [[{ kind: 'admitted', promptTokens: 1 }], options.noProgressTimeoutMs],
    ] as const) {
      scripts.set(s1, answering(events));
      const reading = read(law('hi'));
      await clock.advance(silentMs);
      const { events: seen, error } = await reading;
      expect([error, routesOf(seen)]).toEqual([undefined, [s1, s2]]);
    }
  });

  it('a slow engine is kept alive by heartbeats', async () => {
    let finish: () => void = () => undefined;
    models.answer = async function* () {
      yield { kind: 'admitted', promptTokens: 1 };
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      yield finished;
    };
    const reading = read(law('hi'));
    await clock.advance(options.noProgressTimeoutMs * 3);
    finish();
    const { events, error } = await reading;
    expect([error, routesOf(events)]).toEqual([undefined, [s1]]);
    expect(events.filter(({ kind }) => kind === 'progress').length).toBeGreaterThanOrEqual(14);
  });

  it('with fallback "fail" is refused when nobody has the domain; without, the least loaded or the ring answers and says why', async () => {
    expect((await read(law('hi', { domain: 'art', route: { fallback: 'fail' } }))).error?.code).toBe('DOMAIN_UNAVAILABLE');
    expect((await service.answer(law('hi', { domain: 'art' }), signal)).routing).toMatchObject({
      decision: 'ring',
      fallback: 'no_capable_shard',
    });
    expect((await service.answer(law('hi'), signal)).routing).not.toHaveProperty('fallback');
    nothingReserved();
  });

  it('names a model nobody serves, and the want of living shards', async () => {
    expect((await read(request('hi', { model: 'x' }))).error?.code).toBe('MODEL_UNKNOWN');
    members = members.map((one) => ({ ...one, health: 'dead' as const }));
    expect((await read(request('hi', { model: 'm' }))).error?.code).toBe('NO_SHARD_AVAILABLE');
  });

  it('while the engines of all living shards start, hears how far this one is and when to come back, whatever the model', async () => {
    const { models } = members[0] as (typeof members)[number];
    members = members.map((one, index) => ({ ...one, ready: false, models: index === 0 ? models : [] }));
    for (const model of ['default', 'm', 'x'])
      expect((await read(request('hi', { model }))).error).toMatchObject({
        code: 'NO_SHARD_AVAILABLE',
        httpStatus: 503,
        message: 'the engines of all 3 living shards are starting; this one is at chat model, 40 %',
        data: { retryAfterSeconds: 2, phase: 'chat model', percent: 40 },
      });
    members = members.map((one, index) => (index === 0 ? { ...one, ready: true } : one));
    expect((await read(request('hi', { model: 'x' }))).error?.code).toBe('MODEL_UNKNOWN');
    expect((await read(request('hi'))).error).toBeUndefined();
  });

  it('goes to another shard where the first one has no memory for its model, and not where that is being loaded', async () => {
    const refuse = (code: 'MODEL_MEMORY_BUSY' | 'MODEL_LOADING'): void => {
      models.answer = async function* () {
        yield* [];
        throw platformError(code, code);
      };
    };
    refuse('MODEL_LOADING');
    const loading = await read(request('hi'));
    expect([loading.error?.code, routesOf(loading.events).length]).toEqual(['MODEL_LOADING', 1]);
    refuse('MODEL_MEMORY_BUSY');
    const busy = await read(request('hi'));
    expect([busy.error?.code, routesOf(busy.events).length]).toEqual(['MODEL_MEMORY_BUSY', 2]);
    nothingReserved();
  });

  it('that its reader leaves stops the engine', async () => {
    let stopped: AbortSignal | undefined;
    models.answer = async function* (_: GenerateRequest, engineSignal: AbortSignal) {
      stopped = engineSignal;
      yield text('a');
      await new Promise((_resolve, reject) => engineSignal.addEventListener('abort', () => reject(engineSignal.reason)));
    };
    for await (const event of service.generate(law('hi'), signal)) if (event.kind === 'text') break;
    await settle();
    expect(stopped?.aborted).toBe(true);
    nothingReserved();
    expect(clock.timers).toBe(0);
  });
});

describe('a batch (paper §IV-B)', () => {
  const run = async (entries: readonly ClusterRequest[]) => {
    const { results, report } = service.generateBatch(entries, signal);
    const seen: BatchResult[] = [];
    for await (const result of results) seen.push(result);
    return { seen, report };
  };
  const textOf = ({ outcome }: BatchResult): string => (outcome.kind === 'answer' ? outcome.answer.text : outcome.error.code);
  const entries = (count: number): ClusterRequest[] => Array.from({ length: count }, (_, i) => request(`q${i}`));
  const inOrder = (seen: readonly BatchResult[]) => [...seen].sort((left, right) => left.index - right.index).map(textOf);

  it('sends one request a target and answers every entry once', async () => {
    const { seen, report } = await run(entries(9));
    expect(inOrder(seen)).toEqual(Array.from({ length: 9 }, (_, i) => `q${i}!`));
    expect([report.requests, [...report.perShard.values()], report.retries, report.duplicates]).toEqual([3, [1, 1, 1], 0, 0]);
    expect(transport.calls.map(({ method }) => method)).toEqual(Array.from({ length: 3 }, () => 'model.generateBatch'));
    nothingReserved();
  });

  it('what a lost target did not answer is answered by the next-best, the rest not twice', async () => {
    const honest = scripts.get(s2) as Script;
    scripts.set(s2, async function* (call) {
      let frames = 0;
      for await (const frame of honest(call)) {
        if (++frames > 2) throw lost;
        yield frame;
      }
    });
    const { seen, report } = await run(entries(9));
    expect(inOrder(seen)).toEqual(Array.from({ length: 9 }, (_, i) => `q${i}!`));
    expect([report.retries, report.duplicates, unreachable]).toEqual([1, 0, ['s2 false']]);
    expect(report.perShard.get(s2)).toBe(1);
  });

  it('drops the second answer of an entry, and answers to entries that were not asked', async () => {
    const answer = { text: 'x', finishReason: 'stop', usage: {}, timing: {} };
    const frames = [{ kind: 'admitted' }, ...[0, 0, 7].map((index) => ({ kind: 'answer', index, answer }))];
    for (const id of [s1, s2, s3]) {
      scripts.set(id, async function* () {
        for (const value of frames) yield rpcFrame.encode({ kind: 'json', value: value as never });
        yield rpcFrame.encode({ kind: 'end', timestamp: 1 });
      });
    }
    const { seen, report } = await run(entries(1));
    expect([seen.map(({ index }) => index), report.duplicates]).toEqual([[0], 1]);
  });

  it('an entry that its target leaves out is asked of the next-best, then becomes an error entry', async () => {
    for (const id of [s1, s2, s3]) {
      scripts.set(id, async function* () {
        yield rpcFrame.encode({ kind: 'json', value: { kind: 'admitted' } });
        yield rpcFrame.encode({ kind: 'end', timestamp: 1 });
      });
    }
    const { seen } = await run(entries(2));
    expect(seen.map(({ index }) => index).sort()).toEqual([0, 1]);
    expect(seen.every(({ outcome }) => outcome.kind === 'error')).toBe(true);
  });

  it('an entry that fails by itself is an error entry among answers', async () => {
    models.answer = async function* ({ messages }) {
      if (messages[0]?.content === 'q1') throw baseError('NOT_SUPPORTED', 'no');
      yield text(`${messages[0]?.content}!`);
      yield finished;
    };
    expect(inOrder((await run(entries(3))).seen)).toEqual(['q0!', 'NOT_SUPPORTED', 'q2!']);
  });

  it('with nobody to ask has an error for every entry', async () => {
    members = [];
    expect((await run(entries(2))).seen.map(textOf)).toEqual(['NO_SHARD_AVAILABLE', 'NO_SHARD_AVAILABLE']);
  });

  it('keeps a slow target by its heartbeats and gives up a silent one', async () => {
    let finish: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    models.answer = async function* () {
      await waiting;
      yield finished;
    };
    scripts.set(s1, answering([{ kind: 'admitted' }]));
    const running = run(entries(3));
    await clock.advance(options.noProgressTimeoutMs * 2);
    finish();
    const { seen, report } = await running;
    expect(seen.every(({ outcome }) => outcome.kind === 'answer')).toBe(true);
    expect(report.retries).toBe(1);
  });

  it('an entry whose own time is over ends with DEADLINE_EXCEEDED at that time, its work with it, and the others go on', async () => {
    let finish: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const stopped: string[] = [];
    models.answer = async function* ({ messages }, engineSignal) {
      const name = messages[0]?.content as string;
      const aborted = new Promise<never>((_, reject) =>
        engineSignal.addEventListener('abort', () => {
          stopped.push(name);
          reject(new Error('the engine was told to stop'));
        }),
      );
      await Promise.race([waiting, aborted]);
      yield text(`${name}!`);
      yield finished;
    };
    const times = [undefined, 1, 500, 60_000];
    const running = run(times.map((entryTimeoutMs, i) => request(`q${i}`, entryTimeoutMs === undefined ? {} : { entryTimeoutMs })));
    await clock.advance(1);
    expect(stopped).toEqual(['q1']);
    await clock.advance(498);
    expect(stopped).toEqual(['q1']);
    await clock.advance(1);
    expect(stopped).toEqual(['q1', 'q2']);
    finish();
    const { seen, report } = await running;
    expect(inOrder(seen)).toEqual(['q0!', 'DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED', 'q3!']);
    expect([seen.map(({ index }) => index).slice(0, 2), report.retries, clock.timers]).toEqual([[1, 2], 0, 0]);
    nothingReserved();
  });

  it('an entry that is asked of another shard has what is left of its time there', async () => {
    const honest = scripts.get(s2) as Script;
    scripts.set(s1, answering([{ kind: 'admitted' }]));
    scripts.set(s3, answering([{ kind: 'admitted' }]));
    models.answer = async function* (_, engineSignal) {
      await new Promise((_resolve, reject) => engineSignal.addEventListener('abort', () => reject(engineSignal.reason)));
      yield finished;
    };
    members = [member(s1, 0.9), member(s2, 0.85)];
    const running = run([law('q', { entryTimeoutMs: options.noProgressTimeoutMs + 700 })]);
    await clock.advance(options.noProgressTimeoutMs);
    scripts.set(s2, honest);
    await clock.advance(699);
    let isOver = false;
    void running.then(() => {
      isOver = true;
    });
    await settle();
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect((await running).seen.map(textOf)).toEqual(['DEADLINE_EXCEEDED']);
  });
});
