import { AsyncQueue, OstrakaError } from '../../src/base/index.js';
import { type CallHandler, type OutgoingCall, type PeerAddress, platformError, type Timer } from '../../src/platform/index.js';
import type { SimProcess } from '../world/SimProcess.js';
import type { SimRandom } from '../world/SimRandom.js';
import type { SimWorld } from '../world/SimWorld.js';

/** What is wrong with the network now; changed while the simulation runs. */
export interface NetworkFaults {
  /** Share of messages after which a connection breaks. */
  lossShare: number;
  /** Share of repeatable calls that arrive a second time. */
  duplicateShare: number;
  /** Share of messages that take up to `spikeMsMax` longer. */
  spikeShare: number;
  spikeMsMax: number;
}

/** One end of the network: a shard's process that may listen. */
export interface NetworkEnd {
  readonly shardId: string;
  readonly process: SimProcess;
}

interface Listener extends NetworkEnd {
  readonly handler: CallHandler;
}

/** One call under way. */
export interface Conversation {
  readonly caller: NetworkEnd;
  readonly calleeId: string;
  readonly method: string;
  readonly answer: AsyncQueue<Uint8Array>;
  /** At the called side: the call's signal. */
  readonly cancelled: AbortController;
  callee: SimProcess | undefined;
  /** Frames arrive in order: none before this. */
  frameAtMs: number;
  isOver: boolean;
}

const timing = {
  tripMsMin: 0.2,
  tripMsMax: 2,
  /** A silent connection is noticed by its pings within this. */
  silenceMsMin: 500,
  silenceMsMax: 3_000,
  duplicateMsMax: 30,
} as const;

/**
 * Methods whose callers count on a repetition doing nothing more: only these arrive twice. A repeated document operation comes about by
 * itself, when an answer is lost and the call is tried again with its request id.
 */
const repeatable = new Set(['gossip.exchange', 'gossip.push', 'transaction.prepare', 'transaction.commit', 'transaction.decide']);

/** The network between shards, over connections: what is lost breaks its call, and whoever waits learns of it after a silence. */
export class SimNetwork {
  readonly faults: NetworkFaults = { lossShare: 0, duplicateShare: 0, spikeShare: 0, spikeMsMax: 0 };
  readonly #world: SimWorld;
  readonly #random: SimRandom;
  readonly #listeners = new Map<number, Listener>();
  readonly #cuts = new Set<string>();
  readonly #slow = new Map<string, number>();
  readonly #open = new Set<Conversation>();

  constructor(parts: { readonly world: SimWorld; readonly random: SimRandom }) {
    this.#world = parts.world;
    this.#random = parts.random;
  }

  /** Nothing gets from one shard to the other, this way only. */
  cut(from: string, to: string): void {
    this.#cuts.add(`${from}>${to}`);
  }

  mend(from: string, to: string): void {
    this.#cuts.delete(`${from}>${to}`);
  }

  /** Every message from and to the shard takes so much longer; 0 ends it. */
  slowDown(shardId: string, extraMs: number): void {
    this.#slow.set(shardId, extraMs);
  }

  heal(): void {
    this.#cuts.clear();
    this.#slow.clear();
    Object.assign(this.faults, { lossShare: 0, duplicateShare: 0, spikeShare: 0, spikeMsMax: 0 });
  }

  listen(end: NetworkEnd, port: number, handler: CallHandler): PeerAddress {
    this.#listeners.set(port, { ...end, handler });
    return { host: 'simulated', port };
  }

  unlisten(process: SimProcess): void {
    for (const [port, listener] of this.#listeners) if (listener.process === process) this.#listeners.delete(port);
  }

  /** The process is gone: its ports are closed and its connections end at the other side. */
  processDied(process: SimProcess): void {
    this.unlisten(process);
    for (const conversation of this.#open) {
      if (conversation.caller.process === process) this.#endAtCallee(conversation, this.#tripMs(conversation), 'TRANSPORT_LOST');
      else if (conversation.callee === process) this.#failAtCaller(conversation, this.#tripMs(conversation), 'TRANSPORT_LOST');
      else continue;
      this.#over(conversation);
    }
  }

  /** The shard stops in good order: its ports close and its calls end at both sides. */
  close(process: SimProcess): void {
    const own = [...this.#open].filter(({ caller, callee }) => caller.process === process || callee === process);
    this.unlisten(process);
    for (const conversation of own) {
      this.#failAtCaller(conversation, conversation.caller.process === process ? 0 : this.#tripMs(conversation), 'TRANSPORT_LOST');
      this.#endAtCallee(conversation, conversation.callee === process ? 0 : this.#tripMs(conversation), 'TRANSPORT_LOST');
      this.#over(conversation);
    }
  }

  /** Starts a call; the answer comes into the conversation's queue. */
  open(caller: NetworkEnd, call: OutgoingCall): Conversation {
    const conversation: Conversation = {
      caller,
      calleeId: call.peer.shardId,
      method: call.method,
      answer: new AsyncQueue<Uint8Array>({ itemsMax: Number.MAX_SAFE_INTEGER }),
      cancelled: new AbortController(),
      callee: undefined,
      frameAtMs: 0,
      isOver: false,
    };
    this.#open.add(conversation);
    this.#note(conversation, 'call', call.body);
    if (this.#isCut(caller.shardId, conversation.calleeId)) {
      this.#failAtCaller(conversation, this.#silenceMs(), this.#random.chance(0.5) ? 'TRANSPORT_REFUSED' : 'TRANSPORT_LOST');
      this.#over(conversation);
    } else if (this.#isLost()) {
      this.#failAtCaller(conversation, this.#silenceMs(), 'TRANSPORT_LOST');
      this.#over(conversation);
    } else this.#sendRequest(conversation, call);
    return conversation;
  }

  /** The caller needs no more: a message to the called side, which may be lost with its connection. */
  cancel(conversation: Conversation): void {
    if (conversation.isOver) return;
    const isLost = this.#isCut(conversation.caller.shardId, conversation.calleeId) || this.#isLost();
    this.#note(conversation, 'cancel');
    this.#endAtCallee(conversation, isLost ? this.#silenceMs() : this.#tripMs(conversation), isLost ? 'TRANSPORT_LOST' : 'CANCELLED');
    this.#over(conversation);
  }

  #sendRequest(conversation: Conversation, call: OutgoingCall): void {
    const { address } = call.peer;
    const delayMs = this.#tripMs(conversation);
    const listener = this.#listeners.get(address.port);
    this.#world.schedule({
      delayMs,
      owner: listener?.process,
      run: () => {
        if (conversation.isOver) return;
        const present = this.#listeners.get(address.port);
        if (present === undefined || present.shardId !== conversation.calleeId) {
          this.#failAtCaller(conversation, this.#tripMs(conversation), 'TRANSPORT_REFUSED');
          this.#over(conversation);
          return;
        }
        void this.#serve(conversation, present, call);
        if (repeatable.has(call.method) && this.#random.chance(this.faults.duplicateShare)) this.#repeat(conversation, present, call);
      },
    });
    // A process that dies before the request arrives closes its ports: whoever asks then is refused.
    if (listener === undefined) return;
    this.#world.schedule({
      delayMs: delayMs + timing.silenceMsMax,
      owner: conversation.caller.process,
      run: () => {
        if (conversation.isOver || conversation.callee !== undefined || listener.process.isAlive) return;
        this.#failAtCaller(conversation, 0, 'TRANSPORT_REFUSED');
        this.#over(conversation);
      },
    });
  }

  #repeat(conversation: Conversation, listener: Listener, call: OutgoingCall): void {
    this.#world.schedule({
      delayMs: this.#random.between(0, timing.duplicateMsMax),
      owner: listener.process,
      run: () => {
        this.#note(conversation, 'repeat');
        this.#world.reach('call arrives twice');
        void this.#serve({ ...conversation, isOver: true, cancelled: new AbortController() }, listener, call);
      },
    });
  }

  async #serve(conversation: Conversation, listener: Listener, call: OutgoingCall): Promise<void> {
    conversation.callee = listener.process;
    const isRepetition = conversation.isOver;
    const frames = listener.handler({
      peerShardId: conversation.caller.shardId as never,
      method: call.method,
      headers: call.headers,
      body: call.body.slice(),
      signal: conversation.cancelled.signal,
    });
    this.#note(conversation, 'serve');
    try {
      for await (const frame of frames) {
        if (isRepetition) continue;
        if (conversation.isOver) return;
        this.#sendFrame(conversation, frame);
      }
      if (!conversation.isOver) this.#sendFrame(conversation, undefined);
    } catch (error) {
      this.#note(conversation, `escape ${error instanceof Error ? error.name : 'unknown'}`);
      if (conversation.isOver) return;
      this.#failAtCaller(conversation, this.#tripMs(conversation), 'TRANSPORT_LOST');
      this.#over(conversation);
    }
  }

  /** `undefined` is the end of the answer. */
  #sendFrame(conversation: Conversation, frame: Uint8Array | undefined): void {
    if (this.#isCut(conversation.calleeId, conversation.caller.shardId) || this.#isLost()) {
      this.#note(conversation, 'lost');
      this.#failAtCaller(conversation, this.#silenceMs(), 'TRANSPORT_LOST');
      this.#endAtCallee(conversation, this.#silenceMs(), 'TRANSPORT_LOST');
      this.#over(conversation);
      return;
    }
    const { nowMs } = this.#world;
    conversation.frameAtMs = Math.max(conversation.frameAtMs, nowMs + this.#tripMs(conversation));
    this.#note(conversation, frame === undefined ? 'end' : 'frame', frame);
    this.#world.schedule({
      delayMs: conversation.frameAtMs - nowMs,
      owner: conversation.caller.process,
      run: () => (frame === undefined ? conversation.answer.close() : conversation.answer.push(frame)),
    });
    if (frame === undefined) this.#over(conversation);
  }

  #failAtCaller(conversation: Conversation, delayMs: number, code: 'TRANSPORT_REFUSED' | 'TRANSPORT_LOST'): Timer {
    const { caller, calleeId, method } = conversation;
    return this.#world.schedule({
      delayMs: Math.max(delayMs, conversation.frameAtMs - this.#world.nowMs),
      owner: caller.process,
      run: () => {
        this.#note(conversation, code);
        conversation.answer.fail(platformError(code, `simulated network: ${method} to ${calleeId}`));
      },
    });
  }

  #endAtCallee(conversation: Conversation, delayMs: number, code: 'TRANSPORT_LOST' | 'CANCELLED'): void {
    if (conversation.callee === undefined) return;
    const reason = code === 'CANCELLED' ? cancelledByPeer() : platformError(code, 'the calling shard is gone');
    this.#world.schedule({ delayMs, owner: conversation.callee, run: () => conversation.cancelled.abort(reason) });
  }

  #over(conversation: Conversation): void {
    conversation.isOver = true;
    this.#open.delete(conversation);
  }

  #isCut(from: string, to: string): boolean {
    return this.#cuts.has(`${from}>${to}`);
  }

  #isLost(): boolean {
    return this.faults.lossShare > 0 && this.#random.chance(this.faults.lossShare);
  }

  #silenceMs(): number {
    return this.#random.between(timing.silenceMsMin, timing.silenceMsMax);
  }

  #tripMs({ caller, calleeId }: Conversation): number {
    const { spikeShare, spikeMsMax } = this.faults;
    const spikeMs = spikeShare > 0 && this.#random.chance(spikeShare) ? this.#random.between(0, spikeMsMax) : 0;
    const slowMs = (this.#slow.get(caller.shardId) ?? 0) + (this.#slow.get(calleeId) ?? 0);
    return this.#random.between(timing.tripMsMin, timing.tripMsMax) + spikeMs + slowMs;
  }

  #note({ caller, calleeId, method }: Conversation, what: string, bytes?: Uint8Array): void {
    this.#world.note(`net ${caller.process.name}>${calleeId} ${method} ${what}`, bytes);
  }
}

const cancelledByPeer = (): OstrakaError =>
  new OstrakaError({
    code: 'CANCELLED',
    message: 'the calling shard cancelled the call',
    httpStatus: 499,
    errorNum: 1500,
    retryable: false,
    data: {},
  });
