import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { asId, baseError, onAbort, type ShardId } from '../../base/index.js';
import type { CallHandler, IncomingCall, OutgoingCall, PeerAddress, Transport } from '../index.js';

export interface TransportSubject {
  readonly name: string;
  /** Two transports of one cluster, as the shards `caller` and `callee` have them. */
  readonly open: () => Promise<{ readonly caller: Transport; readonly callee: Transport }>;
  readonly dispose: () => Promise<void>;
  /** Lets so much time pass. */
  readonly pass: (ms: number) => Promise<void>;
}

const callee = asId<ShardId>('callee');
const bytes = (...values: readonly number[]): Uint8Array => Uint8Array.from(values);

/** What every Transport keeps. */
export function transportConformance({ name, open, dispose, pass }: TransportSubject): void {
  describe(`Transport: ${name}`, () => {
    let transports: { readonly caller: Transport; readonly callee: Transport };
    let address: PeerAddress;
    let handler: CallHandler;
    let received: IncomingCall[];
    beforeEach(async () => {
      transports = await open();
      received = [];
      ({ address } = await transports.callee.listen((call) => {
        received.push(call);
        return handler(call);
      }));
    });
    afterEach(() => dispose());

    const callOf = (change: Partial<OutgoingCall> = {}): OutgoingCall => ({
      peer: { shardId: callee, address },
      method: 'test.echo',
      headers: { 'x-note': 'hello' },
      body: bytes(1, 2, 3),
      channel: 'control',
      signal: new AbortController().signal,
      ...change,
    });
    const framesOf = async (call: OutgoingCall): Promise<(readonly number[])[]> => {
      const frames: (readonly number[])[] = [];
      for await (const frame of transports.caller.call(call)) frames.push([...frame]);
      return frames;
    };
    /** Frames one by one until the call is given up; tells with which reason. */
    const endless = (reasons: unknown[]): CallHandler =>
      async function* ({ signal }) {
        onAbort(signal, () => reasons.push(signal.reason));
        for (let i = 0; i < 10_000 && !signal.aborted; i++) {
          yield bytes(i % 256);
          await pass(5);
        }
      };

    it('carries method, headers, body and the caller’s identity, and an answer of no frames', async () => {
      handler = async function* () {};
      expect(await framesOf(callOf())).toEqual([]);
      expect(received).toHaveLength(1);
      expect(received[0]).toMatchObject({ peerShardId: 'caller', method: 'test.echo', headers: { 'x-note': 'hello' } });
      expect([...(received[0]?.body ?? [])]).toEqual([1, 2, 3]);
    });

    it('keeps the frames of a call whole and in order, empty ones too', async () => {
      handler = async function* ({ body }) {
        for (let i = 0; i < 50; i++) yield bytes(i, ...body);
        yield bytes();
        yield new Uint8Array(300_000).fill(7);
      };
      const frames = await framesOf(callOf({ channel: 'bulk' }));
      expect(frames).toHaveLength(52);
      expect(frames.slice(0, 50).map(([first]) => first)).toEqual(Array.from({ length: 50 }, (_, i) => i));
      expect([frames[50]?.length, frames[51]?.length]).toEqual([0, 300_000]);
    });

    it('never mixes the frames of calls', async () => {
      handler = async function* ({ body }) {
        for (let i = 0; i < 5; i++) {
          yield bytes(body[0] as number, i);
          await pass(2);
        }
      };
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => framesOf(callOf({ body: bytes(i) }))));
      for (const [i, frames] of answers.entries()) expect(frames).toEqual([0, 1, 2, 3, 4].map((k) => [i, k]));
    });

    it('ends the iteration with the reason when the caller aborts, and tells the peer', async () => {
      const reasons: unknown[] = [];
      handler = endless(reasons);
      const stop = new AbortController();
      const reason = baseError('DEADLINE_EXCEEDED', 'enough');
      const reading = (async () => {
        for await (const _ of transports.caller.call(callOf({ signal: stop.signal }))) stop.abort(reason);
      })();
      await expect(reading).rejects.toBe(reason);
      await pass(300);
      expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    });

    it('tells the peer when the caller reads no further', async () => {
      const reasons: unknown[] = [];
      handler = endless(reasons);
      for await (const _ of transports.caller.call(callOf())) break;
      await pass(300);
      expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
    });

    it('says that a call did not run when nobody listens', async () => {
      handler = async function* () {};
      await transports.callee.close();
      await expect(framesOf(callOf())).rejects.toMatchObject({ code: 'TRANSPORT_REFUSED', data: {} });
      expect(received).toHaveLength(0);
    });

    it('refuses a peer that is not who was called', async () => {
      handler = async function* () {};
      const call = callOf({ peer: { shardId: asId<ShardId>('somebody'), address } });
      await expect(framesOf(call)).rejects.toMatchObject({ code: 'TRANSPORT_REFUSED' });
      expect(received).toHaveLength(0);
    });

    it('says that a call may have run when the peer goes away in its middle, at both ends', async () => {
      const reasons: unknown[] = [];
      handler = endless(reasons);
      const reading = (async () => {
        for await (const frame of transports.caller.call(callOf())) if (frame[0] === 2) await transports.callee.close();
      })();
      await expect(reading).rejects.toMatchObject({ code: 'TRANSPORT_LOST' });
    });

    it('tells the peer when the caller goes away', async () => {
      const reasons: unknown[] = [];
      handler = endless(reasons);
      const reading = (async () => {
        for await (const frame of transports.caller.call(callOf())) if (frame[0] === 2) void transports.caller.close();
      })();
      await reading.catch(() => undefined);
      await pass(300);
      expect(reasons).toHaveLength(1);
    });

    it('loses the call whose handler breaks its promise not to throw', async () => {
      handler = async function* () {
        yield bytes(1);
        throw new Error('an escape');
      };
      await expect(framesOf(callOf())).rejects.toMatchObject({ code: 'TRANSPORT_LOST' });
    });

    it('calls nobody once it is closed', async () => {
      handler = async function* () {};
      await transports.caller.close();
      await expect(framesOf(callOf())).rejects.toMatchObject({ code: 'TRANSPORT_REFUSED' });
    });
  });
}
