import { beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { ManualClock, settle } from '../../test/support/ManualClock.js';
import { EventLog, silentMetrics } from '../../test/support/silentPorts.js';
import { asId, baseError, type ShardId, utf8 } from '../base/index.js';
import { type RpcFrame, rpcFrame } from '../protocol/index.js';
import { declareRpcMetrics } from './metrics.js';
import { rpcOptions } from './options.js';
import { RpcServer } from './RpcServer.js';

const clock = new ManualClock();
const observed: number[] = [];
let logger: EventLog;
let server: RpcServer;

beforeEach(() => {
  logger = new EventLog();
  observed.length = 0;
  const observe = (timestamp: number): void => {
    if (timestamp > 1000) throw baseError('QUEUE_FULL', 'too far ahead');
    observed.push(timestamp);
  };
  const timestamps = { last: () => 9, observe };
  const options = rpcOptions.parse({ messageBytesMax: 1024 });
  server = new RpcServer({ timestamps, clock, logger, metrics: declareRpcMetrics(silentMetrics), options });
  server.register({
    echo: async function* ({ body }) {
      yield body;
      yield Uint8Array.of(1, 2);
    },
    full: async function* () {
      yield 1;
      throw baseError('QUEUE_FULL', 'full', { data: { queue: 1 } });
    },
    broken: async function* () {
      yield Number(undefined as unknown as string).toFixed(999);
    },
    checked: async function* ({ body }) {
      yield z.strictObject({ a: z.int() }).parse(body).a;
    },
    large: async function* ({ body }) {
      yield 'x'.repeat(Number(body));
    },
    slow: async function* ({ signal }) {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      yield 1;
    },
  });
});

const ask = async (method: string, body = '{}', headers: { [name: string]: string } = {}, signal = new AbortController().signal) => {
  const answer: RpcFrame[] = [];
  const call = { peerShardId: asId<ShardId>('shard-1'), method, headers, body: utf8.encode(body), signal };
  for await (const frame of server.handle(call)) answer.push(rpcFrame.decode(frame));
  return answer;
};

it('answers values and bytes and one end with its clock; observes the clock of the caller', async () => {
  expect(await ask('echo', '{"a":1}', { 'x-timestamp': '41' })).toEqual([
    { kind: 'json', value: { a: 1 } },
    { kind: 'bytes', bytes: Uint8Array.of(1, 2) },
    { kind: 'end', timestamp: 9 },
  ]);
  expect(observed).toEqual([41]);
});

it.each([
  ['nothing', '{}', 'METHOD_UNKNOWN'],
  ['echo', 'no json', 'PROTOCOL_VIOLATION'],
  ['checked', '{"a":"x"}', 'PROTOCOL_VIOLATION'],
])('a call of %s with %s ends in an error frame, %s, and nobody is woken', async (method, body, code) => {
  expect((await ask(method, body)).at(-1)).toMatchObject({ kind: 'error', error: { code }, timestamp: 9 });
  expect(logger.events).toEqual([]);
});

it('an error in the middle ends the answer as a frame, with its code and data', async () => {
  const answer = await ask('full');
  expect(answer.map(({ kind }) => kind)).toEqual(['json', 'error']);
  expect(answer[1]).toMatchObject({ error: { code: 'QUEUE_FULL', data: { queue: 1 } } });
});

it('a frame of messageBytesMax is sent; one larger is MESSAGE_TOO_LARGE, which the caller hears', async () => {
  const overhead = rpcFrame.encode({ kind: 'json', value: '' }).length;
  expect((await ask('large', String(1024 - overhead))).map(({ kind }) => kind)).toEqual(['json', 'end']);
  expect(await ask('large', String(1025 - overhead))).toMatchObject([
    { kind: 'error', error: { code: 'MESSAGE_TOO_LARGE', httpStatus: 413 } },
  ]);
});

it('a call whose clock is refused does not run, and its caller hears why', async () => {
  expect(await ask('echo', '{}', { 'x-timestamp': '1001' })).toMatchObject([{ kind: 'error', error: { code: 'QUEUE_FULL' } }]);
});

it('an unexpected error is INTERNAL and logged', async () => {
  expect((await ask('broken')).at(-1)).toMatchObject({ error: { code: 'INTERNAL' } });
  expect(logger.events.map(({ event }) => event)).toEqual(['rpc.failed']);
});

it('a method is stopped at the deadline of its caller, and when the caller goes away', async () => {
  const late = ask('slow', '{}', { 'x-deadline-ms': '20' });
  await clock.advance(20);
  expect((await late).at(-1)).toMatchObject({ error: { code: 'DEADLINE_EXCEEDED' } });
  const caller = new AbortController();
  const left = ask('slow', '{}', {}, caller.signal);
  await settle();
  caller.abort();
  expect((await left).at(-1)).toMatchObject({ error: { code: 'CANCELLED' } });
  expect(clock.timers).toBe(0);
});
