import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type ManualClock, SleepingClock, settle } from '../../test/support/ManualClock.js';
import { MemoryMetadata } from '../../test/support/MemoryMetadata.js';
import { MemoryStore } from '../../test/support/MemoryStore.js';
import { ScriptedTransport } from '../../test/support/ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { asId, type ShardId } from '../base/index.js';
import { type OutgoingCall, platformError } from '../platform/index.js';
import { declareRpcMetrics, RemoteExecutor, RpcServer, rpcOptions } from '../rpc/index.js';
import { type CollectionRef, DocumentStore, storageError, storageOptions, type Timestamp } from '../storage/index.js';
import { DecisionLog } from './DecisionLog.js';
import { LocalTransactions } from './LocalTransactions.js';
import { transactionOptions } from './options.js';
import { type DistributedTransaction, TransactionCoordinator } from './TransactionCoordinator.js';
import { transactionMethods } from './transactionMethods.js';

const options = transactionOptions.parse({});
const { signal } = new AbortController();
const books: CollectionRef = { database: 'd', name: 'books', id: 7, kind: 'document' };
const [a, b] = [asId<ShardId>('shard-a'), asId<ShardId>('shard-b')];
const unavailable = platformError('METADATA_UNAVAILABLE', 'away');

let clock: ManualClock;
let metadata: MemoryMetadata;
let decisions: DecisionLog;
let logger: EventLog;
beforeEach(() => {
  clock = new SleepingClock();
  metadata = new MemoryMetadata();
  decisions = new DecisionLog({ metadata, options });
  logger = new EventLog();
});

/** One shard: its store and its part of transactions. `restart` opens the same store again. */
const shardOf = (selfShardId: ShardId = a) => {
  const store = new MemoryStore();
  const start = () => {
    const documents = DocumentStore.open({ store, clock, options: storageOptions.parse({}) });
    return { documents, local: new LocalTransactions({ selfShardId, documents, decisions, clock, logger, options }) };
  };
  const shard = { ...start(), store, restart: () => void Object.assign(shard, start()) };
  return shard;
};
type Shard = ReturnType<typeof shardOf>;
const insert = async ({ local, documents }: Shard, id: string, key = 'x', readTimestamp = documents.timestamps.now()): Promise<void> => {
  (await local.join({ id, readTimestamp, signal })).insert(books, { _key: key });
};
const has = async ({ documents }: Shard, key = 'x'): Promise<boolean> =>
  (await documents.begin({ id: 'reader', signal })).get(books, key) !== undefined;

describe('DecisionLog', () => {
  const commit = { kind: 'commit', commitTimestamp: 5 as Timestamp } as const;

  it('the first decision stands, whoever comes later', async () => {
    expect(await decisions.decide('t', commit, [a, b])).toEqual(commit);
    expect(await decisions.decide('t', { kind: 'abort' }, [])).toEqual(commit);
    expect(await decisions.resolve('t')).toEqual(commit);
  });

  it('to resolve what nobody decided aborts it, also against a later commit', async () => {
    expect(await decisions.resolve('t')).toEqual({ kind: 'abort' });
    expect(await decisions.decide('t', commit, [a, b])).toEqual({ kind: 'abort' });
  });

  it('a commit is kept without a lease, so that a participant away for long still finds it; an abort with one', async () => {
    await decisions.decide('kept', commit, [a]);
    await decisions.decide('leased', { kind: 'abort' }, []);
    for (let i = 0; i < 9; i++) await metadata.revokeLease(`lease-${i}`); // every lease ends
    expect((await metadata.list('decision/')).map(({ key }) => key)).toEqual(['decision/kept']);
    await decisions.forget('kept');
    expect(await metadata.list('decision/')).toEqual([]);
  });
});

describe('LocalTransactions', () => {
  it('a repeated commit gives the same timestamp, also while the first runs and after a restart', async () => {
    const shard = shardOf();
    await insert(shard, 't');
    const [first, second] = await Promise.all([shard.local.commit('t', signal), shard.local.commit('t', signal)]);
    expect([second, await shard.local.commit('t', signal)]).toEqual([first, first]);
    shard.restart();
    expect(await shard.local.commit('t', signal)).toBe(first);
  });

  it('whoever gives up while a transaction begins, commits or waits leaves the others alone', async () => {
    for (const leaver of [0, 1]) {
      const shard = shardOf();
      await insert(shard, 'before', 'y');
      await insert(shard, 't');
      const callers = [new AbortController(), new AbortController()];
      const outcomesOf = (work: (own: AbortSignal) => Promise<unknown>) =>
        callers.map((caller) => {
          const outcome = work(caller.signal);
          return outcome.then(() => 'done').catch(({ code }: { code: string }) => code);
        });
      const expected = callers.map((_, i) => (i === leaver ? 'CANCELLED' : 'done'));
      shard.store.hold();
      const pending = shard.local.commit('before', signal); // both wait: the snapshot is not stored yet
      const request = { id: 'joined', readTimestamp: shard.documents.timestamps.now() };
      const joining = outcomesOf((own) => shard.local.join({ ...request, signal: own }));
      const committing = outcomesOf((own) => shard.local.commit('t', own));
      await settle();
      callers[leaver]?.abort();
      await settle();
      shard.store.release();
      expect([await Promise.all(joining), await Promise.all(committing)]).toEqual([expected, expected]);
      await pending;
      expect(await has(shard)).toBe(true);
      expect(shard.local.find('joined')).toBeDefined();
    }
  });

  it('a transaction that all gave up while it began is not open; the next to come begins it', async () => {
    const shard = shardOf();
    await insert(shard, 'before', 'y');
    shard.store.hold();
    const pending = shard.local.commit('before', signal);
    const caller = new AbortController();
    const request = { id: 't', readTimestamp: shard.documents.timestamps.now() };
    const left = shard.local.join({ ...request, signal: caller.signal });
    caller.abort();
    await expect(left).rejects.toMatchObject({ code: 'CANCELLED' });
    const late = shard.local.join({ ...request, signal });
    expect(shard.local.find('t')).toBeUndefined();
    shard.store.release();
    await pending;
    expect(await late).toBe(shard.local.find('t'));
  });

  it('an abort also ends a transaction that is about to begin', async () => {
    const shard = shardOf();
    await insert(shard, 'before', 'y');
    shard.store.hold();
    const pending = shard.local.commit('before', signal);
    const joining = shard.local.join({ id: 't', readTimestamp: shard.documents.timestamps.now(), signal }).catch((error: unknown) => error);
    await shard.local.decide('t', { kind: 'abort' });
    expect(await joining).toMatchObject({ code: 'TRANSACTION_ABORTED' });
    expect(shard.local.find('t')).toBeUndefined();
    shard.store.release();
    await pending;
  });

  it('a repeated prepare gives the same proposal', async () => {
    const shard = shardOf();
    await insert(shard, 't');
    const proposals = [await shard.local.prepare('t'), await shard.local.prepare('t')];
    expect(proposals[1]).toBe(proposals[0]);
    expect(shard.documents.inDoubt()).toEqual(['t']);
  });

  it('knows nothing of a transaction that never came', async () => {
    const { local } = shardOf();
    await expect(local.prepare('t')).rejects.toMatchObject({ code: 'TRANSACTION_UNKNOWN' });
    await expect(local.commit('t', signal)).rejects.toMatchObject({ code: 'TRANSACTION_UNKNOWN' });
    await local.decide('t', { kind: 'abort' });
  });

  it('refuses more open transactions than openMax, and opens again once one has ended', async () => {
    const { documents } = shardOf();
    const local = new LocalTransactions({ selfShardId: a, documents, decisions, clock, logger, options: { ...options, openMax: 1 } });
    const join = (id: string) => local.join({ id, readTimestamp: documents.timestamps.now(), signal });
    await join('a');
    await expect(join('b')).rejects.toMatchObject({ code: 'TRANSACTION_LIMIT' });
    await local.decide('a', { kind: 'abort' });
    await join('b');
  });

  it('a repeated commit of a transaction that wrote nothing is answered the same, and remembered for endedRememberedMax others', async () => {
    const { documents } = shardOf();
    const local = new LocalTransactions({
      selfShardId: a,
      documents,
      decisions,
      clock,
      logger,
      options: { ...options, endedRememberedMax: 2 },
    });
    const end = async (id: string) => {
      await local.join({ id, readTimestamp: documents.timestamps.now(), signal });
      return local.commit(id, signal);
    };
    const first = await end('t');
    expect(await local.commit('t', signal)).toBe(first);
    await end('u');
    await end('v');
    await expect(local.commit('t', signal)).rejects.toMatchObject({ code: 'TRANSACTION_UNKNOWN' });
  });

  it('finds only what is open: nothing is opened by looking', async () => {
    const shard = shardOf();
    expect(shard.local.find('t')).toBeUndefined();
    await expect(shard.local.prepare('t')).rejects.toMatchObject({ code: 'TRANSACTION_UNKNOWN' });
    await insert(shard, 't');
    expect(await shard.local.find('t')).toBeDefined();
  });

  it('does not drop a transaction while a fragment holds it, however long that takes', async () => {
    const shard = shardOf();
    await insert(shard, 't');
    const held = shard.local.hold('t');
    await clock.advance(options.idleMsMax * 3);
    await shard.local.resolve(false);
    expect(shard.local.find('t')).toBeDefined();
    held.release();
    await clock.advance(options.idleMsMax + 1);
    await shard.local.resolve(false);
    expect(shard.local.find('t')).toBeUndefined();
  });

  it('drops a transaction that is idle too long, never a prepared one', async () => {
    const shard = shardOf();
    await insert(shard, 'idle', 'x');
    await insert(shard, 'prepared', 'y');
    await shard.local.prepare('prepared');
    await clock.advance(options.idleMsMax + 1);
    await decisions.decide('prepared', { kind: 'commit', commitTimestamp: shard.documents.timestamps.now() }, []);
    await shard.local.resolve(false);
    await expect(shard.local.commit('idle', signal)).rejects.toMatchObject({ code: 'TRANSACTION_UNKNOWN' });
    expect([await has(shard, 'x'), await has(shard, 'y')]).toEqual([false, true]);
  });

  it('resolves what stays in doubt only after inDoubtAfterMs, and at once at start; the log decides', async () => {
    const shard = shardOf();
    await insert(shard, 't');
    const proposal = await shard.local.prepare('t');
    await clock.advance(options.inDoubtAfterMs - 1);
    await shard.local.resolve(false);
    expect(shard.documents.inDoubt()).toEqual(['t']);
    await decisions.decide('t', { kind: 'commit', commitTimestamp: proposal }, []);
    shard.restart();
    await shard.local.resolve(true);
    expect([shard.documents.inDoubt(), await has(shard)]).toEqual([[], true]);
  });

  it('keeps its locks while the metadata store is away', async () => {
    const shard = shardOf();
    await insert(shard, 't');
    await shard.local.prepare('t');
    metadata.fail = unavailable;
    await expect(shard.local.resolve(true)).rejects.toBe(unavailable);
    expect(shard.documents.inDoubt()).toEqual(['t']);
    metadata.fail = undefined;
    await shard.local.resolve(true);
    expect([shard.documents.inDoubt(), await has(shard)]).toEqual([[], false]);
  });
});

describe('TransactionCoordinator over two shards', () => {
  let shards: Map<ShardId, Shard>;
  let coordinator: TransactionCoordinator;
  let coordinatorOf: (given: typeof options) => TransactionCoordinator;
  let methods: string[];
  /** Called before and after each delivery; what it throws is what the network does. */
  let onDelay: (shard: ShardId, method: string) => Promise<void> | undefined;
  let onCall: (moment: 'before' | 'after', shard: ShardId, method: string) => void;

  beforeEach(() => {
    shards = new Map([a, b].map((id) => [id, shardOf(id)]));
    methods = [];
    onCall = () => undefined;
    onDelay = () => undefined;
    const timestamps = (shards.get(a) as Shard).documents.timestamps;
    const exchange = { last: () => timestamps.last(), observe: (at: number) => timestamps.observe(at as Timestamp) };
    const rpc = { clock, logger, metrics: declareRpcMetrics(silentMetrics), timestamps: exchange };
    const servers = new Map(
      [...shards].map(([id, shard]) => {
        const server = new RpcServer({ ...rpc, options: rpcOptions.parse({}) });
        server.register(transactionMethods(shard.local));
        return [id, server];
      }),
    );
    const deliver = async function* (call: OutgoingCall): AsyncGenerator<Uint8Array> {
      const { shardId } = call.peer;
      methods.push(`${shardId} ${call.method.split('.')[1]}`);
      await onDelay(shardId, call.method);
      onCall('before', shardId, call.method);
      const frames: Uint8Array[] = [];
      for await (const frame of (servers.get(shardId) as RpcServer).handle({ ...call, peerShardId: asId<ShardId>('c') }))
        frames.push(frame);
      onCall('after', shardId, call.method);
      yield* frames;
    };
    const executor = new RemoteExecutor({
      ...rpc,
      selfShardId: asId<ShardId>('c'),
      transport: new ScriptedTransport(deliver),
      server: new RpcServer({ ...rpc, options: rpcOptions.parse({}) }),
      peers: { find: () => ({ address: { host: 'h', port: 1 }, incarnation: 1 }) },
      random: new CountingRandom(),
      options: rpcOptions.parse({ breakerFailuresMax: 1000 }),
    });
    const random = new CountingRandom();
    coordinatorOf = (given) =>
      new TransactionCoordinator({ executor, timestamps, decisions, clock, random, logger, metrics: silentMetrics, options: given });
    coordinator = coordinatorOf(options);
  });

  const shard = (id: ShardId): Shard => shards.get(id) as Shard;
  const writeOn = async (...ids: ShardId[]): Promise<DistributedTransaction> => {
    const transaction = coordinator.begin();
    for (const id of ids) {
      transaction.enlist(id, 'write');
      await insert(shard(id), transaction.id, 'x', transaction.readTimestamp);
    }
    return transaction;
  };
  const stored = async () => [await has(shard(a)), await has(shard(b))];
  const lose = (): never => {
    throw platformError('TRANSPORT_LOST', 'lost');
  };

  it('commits on one shard in one phase', async () => {
    await (await writeOn(a)).commit(signal);
    expect([methods, await stored()]).toEqual([['shard-a commit'], [true, false]]);
  });

  it('commits on two in two phases, at one timestamp; the decision is forgotten when both have applied it', async () => {
    const transaction = await writeOn(a, b);
    await transaction.commit(signal);
    expect(methods).toEqual(['shard-a prepare', 'shard-b prepare', 'shard-a decide', 'shard-b decide']);
    const outcomes = [a, b].map((id) => shard(id).documents.outcomeOf(transaction.id));
    expect(outcomes[0]).toMatchObject({ kind: 'committed' });
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(await metadata.list('decision/')).toEqual([]);
  });

  it('a transaction that only read ends without a commit', async () => {
    const transaction = coordinator.begin();
    for (const id of [a, b]) transaction.enlist(id, 'read');
    await transaction.commit(signal);
    expect(methods).toEqual(['shard-a decide', 'shard-b decide']);
  });

  it('a prepare that is refused aborts all', async () => {
    const transaction = await writeOn(a, b);
    const other = await shard(b).documents.begin({ id: 'other', signal });
    other.insert(books, { _key: 'x', first: true });
    await shard(b).documents.commit(other, null, signal);
    await expect(transaction.commit(signal)).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
    expect([shard(a).documents.inDoubt(), shard(b).documents.inDoubt(), await has(shard(a))]).toEqual([[], [], false]);
  });

  it('a lost answer to prepare is asked for again and commits', async () => {
    let losses = 1;
    onCall = (moment, _, method) => void (moment === 'after' && method === 'transaction.prepare' && losses-- > 0 && lose());
    await (await writeOn(a, b)).commit(signal);
    expect(await stored()).toEqual([true, true]);
  });

  it('a decision that could not be stored for certain leaves the outcome unknown, and the shards in doubt until it is resolved', async () => {
    const transaction = await writeOn(a, b);
    onCall = (moment, id) => {
      if (moment === 'after' && id === b) metadata.fail = unavailable;
    };
    await expect(transaction.commit(signal)).rejects.toMatchObject({
      code: 'TRANSACTION_OUTCOME_UNKNOWN',
      data: { transactionId: transaction.id },
    });
    metadata.fail = undefined;
    methods.length = 0;
    await transaction.abort(); // what a caller does with a failed commit: it must not tear an unknown one in two
    expect(methods).toEqual([]);
    for (const id of [a, b]) await shard(id).local.resolve(true);
    expect(await stored()).toEqual([false, false]);
  });

  it('a shard that does not hear the decision commits from the log, also after every lease has ended', async () => {
    const transaction = await writeOn(a, b);
    onCall = (_, id, method) => void (id === b && method === 'transaction.decide' && lose());
    await transaction.commit(signal);
    expect(shard(b).documents.inDoubt()).toEqual([transaction.id]);
    for (let i = 0; i < 9; i++) await metadata.revokeLease(`lease-${i}`);
    shard(b).restart();
    await shard(b).local.resolve(true);
    expect(await stored()).toEqual([true, true]);
    expect(logger.events.map(({ event }) => event)).toEqual(['transaction.untold', 'transaction.resolved']);
  });

  it('the record of a decision goes once its last participant has applied it, whoever knows: after a lost answer, and after recovery', async () => {
    const transaction = await writeOn(a, b);
    onCall = (moment, id, method) => {
      if (method === 'transaction.decide' && (id === b || moment === 'after')) lose(); // b never hears, a is never heard
    };
    await transaction.commit(signal);
    const untold = async () => (await metadata.list('decision/')).map(({ value }) => JSON.parse(value).untold);
    expect(await untold()).toEqual([[a, b]]);
    await shard(a).local.resolve(false);
    expect(await untold()).toEqual([[b]]);
    await shard(b).local.resolve(false); // still in doubt: not yet old enough to be resolved, and not acknowledged
    expect(await untold()).toEqual([[b]]);
    shard(b).restart();
    await shard(b).local.resolve(true);
    expect([await untold(), await stored()]).toEqual([[], [true, true]]);
  });

  it('a commit that would have to wait for a clock far behind is refused before it is decided, and leaves nothing', async () => {
    const transaction = await writeOn(a, b);
    const { timestamps } = shard(b).documents;
    const near = timestamps.now();
    vi.spyOn(timestamps, 'now').mockReturnValue((near + 20_000 * 4096) as Timestamp);
    await expect(transaction.commit(signal)).rejects.toMatchObject({ code: 'CLOCK_AHEAD', retryable: true });
    vi.restoreAllMocks();
    expect([await metadata.list('decision/'), shard(a).documents.inDoubt(), shard(b).documents.inDoubt(), await stored()]).toEqual([
      [],
      [],
      [],
      [false, false],
    ]);
  });

  it('a commit that is decided is a success, also when its caller goes away meanwhile', async () => {
    const caller = new AbortController();
    const transaction = await writeOn(a, b);
    onCall = (_, __, method) => void (method === 'transaction.decide' && caller.abort());
    await transaction.commit(caller.signal);
    expect(await stored()).toEqual([true, true]);
  });

  it('reports a failed commit without waiting for a shard that does not hear of the abort', async () => {
    const transaction = await writeOn(a, b);
    const silent = new Promise<void>(() => undefined);
    onDelay = (id, method) => (id === b && method === 'transaction.decide' ? silent : undefined);
    onCall = (_, id, method) => {
      if (id === a && method === 'transaction.prepare') throw storageError('WRITE_CONFLICT', 'conflict');
    };
    await expect(transaction.commit(signal)).rejects.toMatchObject({ code: 'WRITE_CONFLICT' });
  });

  it('aborts that nobody waits for are bounded, and ended by stop', async () => {
    let heard: (() => void)[] = [];
    let told = 0;
    onDelay = (_, method) => {
      if (method !== 'transaction.decide') return undefined;
      told++;
      return new Promise((resolve) => heard.push(resolve));
    };
    const small = coordinatorOf({ ...options, abortsToldMax: 2 });
    const giveUp = (): Promise<void> => {
      const transaction = small.begin();
      transaction.enlist(a, 'write');
      return transaction.abort();
    };
    await Promise.all([giveUp(), giveUp()]); // after their short wait
    let third = false;
    const waiting = giveUp().then(() => {
      third = true;
    });
    await settle();
    expect([told, third]).toEqual([3, false]);
    for (const resume of heard.splice(0)) resume();
    await waiting;
    heard = [];
    await giveUp();
    await small.stop();
    expect(logger.events.at(-1)).toMatchObject({ event: 'transaction.untold' });
  });

  it('a participant that gave up before the decision aborts all', async () => {
    const transaction = await writeOn(a, b);
    await decisions.resolve(transaction.id);
    await expect(transaction.commit(signal)).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED', retryable: true });
    expect(await stored()).toEqual([false, false]);
  });

  it('a lost one-phase commit is unknown, also when later tries surely did not run', async () => {
    let tries = 0;
    onCall = (moment) => {
      if (moment === 'after') lose();
      if (tries++ > 0) throw platformError('TRANSPORT_REFUSED', 'refused');
    };
    const transaction = await writeOn(a);
    await expect(transaction.commit(signal)).rejects.toMatchObject({ code: 'TRANSACTION_OUTCOME_UNKNOWN' });
    onCall = () => undefined;
    expect(await has(shard(a))).toBe(true);
    onCall = () => {
      throw platformError('TRANSPORT_REFUSED', 'refused');
    };
    await expect((await writeOn(b)).commit(signal)).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
  });

  it('abort leaves nothing anywhere', async () => {
    await (await writeOn(a, b)).abort();
    expect(await stored()).toEqual([false, false]);
  });
});
