import type { CallHandler, OutgoingCall, PeerAddress, Transport } from '../../src/platform/index.js';

/** A transport that answers by a function; it keeps the calls it was given. Nothing listens. */
export class ScriptedTransport implements Transport {
  readonly calls: OutgoingCall[] = [];
  answer: (call: OutgoingCall, attempt: number) => AsyncIterable<Uint8Array>;

  constructor(answer: (call: OutgoingCall, attempt: number) => AsyncIterable<Uint8Array>) {
    this.answer = answer;
  }

  call(call: OutgoingCall): AsyncIterable<Uint8Array> {
    this.calls.push(call);
    return this.answer(call, this.calls.length);
  }

  async listen(_handler: CallHandler): Promise<{ readonly address: PeerAddress }> {
    return { address: { host: 'nowhere', port: 1 } };
  }

  async close(): Promise<void> {}
}
