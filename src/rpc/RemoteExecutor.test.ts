import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { ManualClock, SleepingClock, settle } from '../../test/support/ManualClock.js';
import { ScriptedTransport } from '../../test/support/ScriptedTransport.js';
import { CountingRandom, EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { asId, baseError, type JsonValue, type ShardId } from '../base/index.js';
import { type OutgoingCall, platformError } from '../platform/index.js';
import { rpcFrame } from '../protocol/index.js';
import { declareRpcMetrics } from './metrics.js';
import { rpcOptions } from './options.js';
import { type RemoteCall, RemoteExecutor } from './RemoteExecutor.js';
import { RpcServer } from './RpcServer.js';

const [self, peer] = [asId<ShardId>('shard-0'), asId<ShardId>('shard-1')];
const { signal } = new AbortController();

type Step = JsonValue | { readonly fail: unknown } | 'cut' | 'hang';
/** Frames of one answer; `hang` waits for the signal of the call. */
async function* frames(call: OutgoingCall, steps: readonly Step[]): AsyncGenerator<Uint8Array> {
  for (const step of steps) {
    if (step === 'cut') return;
    if (step === 'hang') await new Promise((_, reject) => call.signal.addEventListener('abort', () => reject(call.signal.reason)));
    else if (typeof step === 'object' && step !== null && 'fail' in step) throw (step as { fail: unknown }).fail;
    else yield rpcFrame.encode({ kind: 'json', value: step as JsonValue });
  }
  yield rpcFrame.encode({ kind: 'end', timestamp: 77 });
}
const refused = { fail: platformError('TRANSPORT_REFUSED', 'refused') };
const lost = { fail: platformError('TRANSPORT_LOST', 'lost') };

let clock: ManualClock;
let transport: ScriptedTransport;
let executor: RemoteExecutor;
let server: RpcServer;
let incarnation: number;
let isMember: boolean;
let observed: number[];
let isAhead: boolean;
const fail = (): never => {
  throw baseError('INTERNAL', 'too far ahead');
};
/** Answers by attempt; the last goes on. */
const script = (...answers: (readonly Step[])[]): void => {
  transport.calls.length = 0;
  transport.answer = (call, attempt) => frames(call, answers[Math.min(attempt, answers.length) - 1] ?? []);
};
const start = (clockOf: ManualClock): void => {
  clock = clockOf;
  const [logger, metrics] = [new EventLog(), declareRpcMetrics(silentMetrics)];
  const timestamps = { last: () => 5, observe: (timestamp: number) => (isAhead ? fail() : void observed.push(timestamp)) };
  observed = [];
  [incarnation, isMember, isAhead] = [1, true, false];
  transport = new ScriptedTransport((call) => frames(call, [1]));
  server = new RpcServer({ timestamps, clock, logger, metrics, options: rpcOptions.parse({}) });
  executor = new RemoteExecutor({
    selfShardId: self,
    transport,
    server,
    peers: { find: () => (isMember ? { address: { host: 'h', port: 1 }, incarnation } : undefined) },
    clock,
    random: new CountingRandom(),
    timestamps,
    metrics,
    logger,
    options: rpcOptions.parse({ messageBytesMax: 2048 }),
  });
};
const call = (changes: Partial<RemoteCall> = {}) =>
  executor.call({ shardId: peer, method: 'm', body: { x: 1 }, signal, idempotent: true, ...changes });
const once = (changes: Partial<RemoteCall> = {}) => call({ idempotent: false, ...changes });

beforeEach(() => start(new SleepingClock()));

describe('a call', () => {
  it('leaves nothing on the stop signal that all calls of a component share: 1,000 at once, 10,000 one after the other', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const stop = new AbortController();
    let pass = (): void => undefined;
    const gate = new Promise<void>((resolve) => {
      pass = resolve;
    });
    transport.answer = async function* (asked) {
      await gate;
      yield* frames(asked, [1]);
    };
    const together = Promise.all(Array.from({ length: 1000 }, () => once({ signal: stop.signal })));
    await settle();
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    pass();
    await together;
    for (let i = 0; i < 10_000; i++) await once({ signal: stop.signal });
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    expect(clock.timers).toBe(0);
    await settle();
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('answers the value, passes on deadline and clock, and observes the clock of the peer', async () => {
    script([{ y: 2 }]);
    expect(await call({ deadlineMs: 1234.4 })).toEqual({ y: 2 });
    expect(transport.calls[0]?.headers).toEqual({ 'x-deadline-ms': '1234', 'x-timestamp': '5' });
    expect(observed).toEqual([77]);
  });

  it('passes typed errors of the peer unchanged and does not retry them', async () => {
    const error = baseError('QUEUE_FULL', 'full', { data: { queue: 3 } }).toJson();
    transport.answer = async function* () {
      yield rpcFrame.encode({ kind: 'error', error, timestamp: 8 });
    };
    await expect(call()).rejects.toMatchObject(error);
    expect(transport.calls).toHaveLength(1);
    expect(observed).toEqual([8]);
  });

  it('repeats an idempotent call at most three times, and answers what the last try does', async () => {
    script([lost], [refused], [1, 'cut'], ['ok']);
    expect(await call()).toBe('ok');
    expect(transport.calls).toHaveLength(4);
    script([lost]);
    await expect(call()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { shard: peer, mayHaveRun: true } });
    expect(transport.calls).toHaveLength(4);
  });

  it('repeats another call only when it surely did not run', async () => {
    script([refused], ['ok']);
    expect(await once()).toBe('ok');
    script([lost], ['ok']);
    await expect(once()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { mayHaveRun: true } });
    expect(transport.calls).toHaveLength(1);
  });

  it('says that it may have run when any of its tries may have, whatever the last one met', async () => {
    script([lost], [refused]);
    await expect(call()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { mayHaveRun: true } });
    start(new SleepingClock());
    script([refused], [refused], [refused], [refused]);
    await expect(call()).rejects.toMatchObject({ data: { mayHaveRun: false } });
    script([lost]); // the fifth failure opens the breaker: the next try is not made
    await expect(call()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { mayHaveRun: true } });
  });

  it('gives all its tries one deadline, and each what is left of it', async () => {
    script([lost], [lost], ['ok']);
    await call({ deadlineMs: 1000 });
    const left = transport.calls.map(({ headers }) => Number(headers['x-deadline-ms']));
    expect(left[0]).toBe(1000);
    expect(left[1]).toBeLessThan(1000);
    expect(left[2]).toBeLessThan(left[1] as number);
    script([lost]);
    await expect(call({ deadlineMs: 1 })).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { mayHaveRun: true } });
    expect(transport.calls).toHaveLength(1); // no try is begun that could not end in time
  });

  it('is sent up to messageBytesMax, and refused before it is sent above', async () => {
    const bodyOf = (bytes: number): string => 'x'.repeat(bytes - 2);
    expect(await call({ body: bodyOf(2048) })).toBe(1);
    await expect(call({ body: bodyOf(2049) })).rejects.toMatchObject({ code: 'MESSAGE_TOO_LARGE', httpStatus: 413, retryable: false });
    expect(transport.calls).toHaveLength(1);
  });

  it('an answer from too far ahead counts as lost, since the call has run; an error stays what it is', async () => {
    isAhead = true;
    script(['done']);
    await expect(once()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { shard: peer, mayHaveRun: true } });
    const error = baseError('QUEUE_FULL', 'full').toJson();
    transport.answer = async function* () {
      yield rpcFrame.encode({ kind: 'error', error, timestamp: 8 });
    };
    await expect(once()).rejects.toMatchObject(error);
  });

  it('a cut-off or empty answer is no answer', async () => {
    script(['cut']);
    await expect(once()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
    script([]);
    await expect(once()).rejects.toMatchObject({ code: 'PROTOCOL_VIOLATION' });
  });

  it('to a shard that is no member surely did not run, and says nothing of the transport', async () => {
    isMember = false;
    for (let i = 0; i < 9; i++)
      await expect(call()).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE', data: { shard: peer, mayHaveRun: false } });
    expect(transport.calls).toHaveLength(0);
    expect(executor.breakerOf(peer).state).toBe('closed');
  });

  it('ends at its deadline and when its caller gives up, without another try', async () => {
    start(new ManualClock());
    script(['hang']);
    const late = expect(call({ deadlineMs: 50 })).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await clock.advance(50);
    await late;
    const caller = new AbortController();
    const cancelled = expect(call({ signal: caller.signal })).rejects.toMatchObject({ code: 'CANCELLED' });
    await settle();
    caller.abort();
    await cancelled;
    expect(transport.calls).toHaveLength(2);
    expect(clock.timers).toBe(0);
  });

  it('to oneself goes through the same server without the network', async () => {
    server.register({
      m: async function* ({ peerShardId, body }) {
        yield [peerShardId, body];
      },
    });
    expect(await call({ shardId: self })).toEqual([self, { x: 1 }]);
    expect(transport.calls).toHaveLength(0);
  });
});

describe('a stream', () => {
  const stream = () => executor.stream({ shardId: peer, method: 'm', body: null, signal, idempotent: false });

  it('gives what came before the error, and is never repeated', async () => {
    script([1, 2, lost]);
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const value of stream()) seen.push(value);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'SHARD_UNAVAILABLE' });
    expect([seen, transport.calls.length]).toEqual([[1, 2], 1]);
  });

  it('that its reader leaves is cancelled at the peer', async () => {
    script([1, 'hang']);
    for await (const _ of stream()) break;
    expect(transport.calls[0]?.signal.aborted).toBe(true);
  });
});

describe('the breaker of a peer', () => {
  const open = async (): Promise<void> => {
    script([lost]);
    for (let i = 0; i < 5; i++) await once().catch(() => undefined);
  };

  it('opens after five failures in a row and then names itself', async () => {
    await open();
    await expect(once()).rejects.toMatchObject({ code: 'BREAKER_OPEN', data: { shard: peer } });
    expect(transport.calls).toHaveLength(5);
    expect(executor.breakerOf(peer)).toEqual({ state: 'open', admits: false });
  });

  it('does not open when answers come between the failures', async () => {
    for (let i = 0; i < 12; i++) {
      script(i % 4 === 3 ? ['ok'] : [lost]);
      await once().catch(() => undefined);
    }
    expect(executor.breakerOf(peer).state).toBe('closed');
  });

  it('closes when the probe after the recovery time is answered', async () => {
    await open();
    await clock.advance(60_000);
    script(['ok']);
    expect(await once()).toBe('ok');
    expect(executor.breakerOf(peer)).toEqual({ state: 'closed', admits: true });
  });

  it('closes for a new incarnation of the peer', async () => {
    await open();
    incarnation++;
    script(['ok']);
    expect(await once()).toBe('ok');
  });

  it('counts a deadline as a failure, a typed error and a cancellation not', async () => {
    transport.answer = async function* () {
      yield rpcFrame.encode({ kind: 'error', error: baseError('QUEUE_FULL', 'full').toJson(), timestamp: 1 });
    };
    for (let i = 0; i < 6; i++) await once().catch(() => undefined);
    script(['hang']);
    for (let i = 0; i < 6; i++) await once({ signal: AbortSignal.abort() }).catch(() => undefined);
    expect(executor.breakerOf(peer).state).toBe('closed');
    start(new ManualClock());
    script(['hang']);
    for (let i = 0; i < 5; i++) {
      const failed = once({ deadlineMs: 10 }).catch(() => undefined);
      await clock.advance(10);
      await failed;
    }
    expect(executor.breakerOf(peer).state).toBe('open');
  });
});
