import { onAbort, toAbortError } from '../../src/base/index.js';
import { type CallHandler, type OutgoingCall, type PeerAddress, platformError, type Transport } from '../../src/platform/index.js';
import type { NetworkEnd, SimNetwork } from './SimNetwork.js';

/** One shard's access to the simulated network. */
export class SimTransport implements Transport {
  readonly #network: SimNetwork;
  readonly #end: NetworkEnd;
  readonly #port: number;
  #isClosed = false;

  constructor(parts: { readonly network: SimNetwork; readonly end: NetworkEnd; readonly port: number }) {
    this.#network = parts.network;
    this.#end = parts.end;
    this.#port = parts.port;
  }

  async *call(call: OutgoingCall): AsyncGenerator<Uint8Array, void, void> {
    if (this.#isClosed) throw platformError('TRANSPORT_REFUSED', 'the shard is stopping');
    const conversation = this.#network.open(this.#end, call);
    const forget = onAbort(call.signal, () => {
      this.#network.cancel(conversation);
      conversation.answer.fail(toAbortError(call.signal));
    });
    try {
      yield* conversation.answer;
    } finally {
      forget();
      this.#network.cancel(conversation);
    }
  }

  async listen(handler: CallHandler): Promise<{ readonly address: PeerAddress }> {
    return { address: this.#network.listen(this.#end, this.#port, handler) };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#network.close(this.#end.process);
  }
}
