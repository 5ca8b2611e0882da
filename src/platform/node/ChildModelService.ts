import { AsyncQueue, assert, OstrakaError, type OstrakaErrorJson, onAbort, raceAbort, toAbortError } from '../../base/index.js';
import {
  type AdapterIdentity,
  adapterKey,
  type EmbedRequest,
  type EmbedResult,
  type EngineFigures,
  type GenerateEvent,
  type GenerateRequest,
  idleLoad,
  type LoadedAdapter,
  type LoadReport,
  type ModelAbilities,
  type ModelFacts,
  type ModelService,
  type PrefixArrival,
  type PrefixExchange,
  type PrefixLookup,
  type PrefixPart,
  platformError,
  type RerankRequest,
  type RerankResult,
} from '../index.js';
import type { EngineCall, EngineCommand, EngineFacts, EngineItem, EngineMessage, EngineValue } from './engineMessages.js';

interface PendingCall {
  readonly onEvent: (event: GenerateEvent) => void;
  readonly onEnd: (value: EngineValue) => void;
  readonly onError: (error: OstrakaError) => void;
}

// One event a token, and admitted, finished and progress; the engine bounds them by the tokens that were asked for.
const eventsBeyondTokens = 64;

const noEvents = (): void => assert(false, 'only a generation has events');

/**
 * The shard's end of the channel to one engine child. Answers of the engine arrive through `receive`; `lose` fails every call in flight,
 * and later ones, with ENGINE_LOST. An aborted call ends at once here, and the engine is told.
 */
export class ChildModelService implements ModelService {
  readonly #send: (command: EngineCommand) => void;
  readonly #facts: EngineFacts;
  readonly #calls = new Map<number, PendingCall>();
  readonly #adapters = new Map<string, LoadedAdapter>();
  readonly prefixes: PrefixExchange = {
    prefixOf: async (request, signal) => {
      if (!this.abilities.prefixes) return undefined;
      return ((await this.#ask({ kind: 'prefixOf', request }, signal)) as PrefixLookup | null) ?? undefined;
    },
    readPrefix: async (asked, signal) => (await this.#ask({ kind: 'readPrefix', asked }, signal)) as PrefixPart,
    writePrefix: async (part, signal) => (await this.#ask({ kind: 'writePrefix', part }, signal)) as PrefixArrival,
  };
  #load: LoadReport;
  #figures: EngineFigures;
  #nextCall = 0;
  #lostReason: string | undefined;

  constructor(options: {
    readonly send: (command: EngineCommand) => void;
    readonly facts: EngineFacts;
    readonly load: LoadReport;
    readonly figures: EngineFigures;
  }) {
    this.#send = options.send;
    this.#facts = options.facts;
    this.#load = options.load;
    this.#figures = options.figures;
  }

  get abilities(): ModelAbilities {
    return this.#facts.abilities;
  }

  models(): readonly ModelFacts[] {
    return this.#facts.models;
  }

  async *generate(request: GenerateRequest, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    if (signal.aborted) throw toAbortError(signal);
    const events = new AsyncQueue<GenerateEvent>({ itemsMax: request.sampling.tokensMax + eventsBeyondTokens });
    const call = this.#begin(
      { kind: 'generate', request },
      { onEvent: (event) => events.push(event), onEnd: () => events.close(), onError: (error) => events.fail(error) },
    );
    const forget = onAbort(signal, () => {
      this.#abandon(call);
      events.fail(toAbortError(signal));
    });
    try {
      yield* events;
    } finally {
      forget();
      this.#abandon(call);
    }
  }

  async embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    return (await this.#ask({ kind: 'embed', request }, signal)) as EmbedResult;
  }

  async rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    return (await this.#ask({ kind: 'rerank', request }, signal)) as RerankResult;
  }

  async tokenize(model: string, text: string, signal: AbortSignal): Promise<readonly number[]> {
    return (await this.#ask({ kind: 'tokenize', model, text }, signal)) as readonly number[];
  }

  async detokenize(model: string, tokens: readonly number[], signal: AbortSignal): Promise<string> {
    return (await this.#ask({ kind: 'detokenize', model, tokens }, signal)) as string;
  }

  async loadAdapter(
    adapter: { readonly path: string; readonly scale: number; readonly digest?: string },
    signal: AbortSignal,
  ): Promise<LoadedAdapter> {
    const loaded = (await this.#ask({ kind: 'loadAdapter', adapter }, signal)) as LoadedAdapter;
    this.#adapters.set(adapterKey(loaded), loaded);
    return loaded;
  }

  async unloadAdapter({ digest, scale }: AdapterIdentity, signal: AbortSignal): Promise<void> {
    const adapter = { digest, scale };
    this.#adapters.delete(adapterKey(adapter)); // from here on no new request gets it
    await this.#ask({ kind: 'unloadAdapter', adapter }, signal);
  }

  adapters(): readonly LoadedAdapter[] {
    return [...this.#adapters.values()];
  }

  load(): LoadReport {
    return this.#load;
  }

  figures(): EngineFigures {
    return this.#figures;
  }

  receive(message: Extract<EngineMessage, { kind: 'batch' | 'load' }>): void {
    if (message.kind === 'load') {
      this.#load = message.load;
      this.#figures = message.figures;
    } else for (const item of message.items) this.#deliver(item);
  }

  lose(reason: string): void {
    this.#lostReason = reason;
    this.#load = idleLoad(this.#load.sequencesTotal);
    for (const [call, pending] of this.#calls) {
      this.#calls.delete(call);
      pending.onError(lostError(reason));
    }
  }

  async #ask(body: EngineCall, signal: AbortSignal): Promise<EngineValue> {
    if (signal.aborted) throw toAbortError(signal);
    let call = -1;
    const answer = new Promise<EngineValue>((resolve, reject) => {
      call = this.#begin(body, { onEvent: noEvents, onEnd: resolve, onError: reject });
    });
    try {
      return await raceAbort(answer, signal);
    } finally {
      this.#abandon(call);
    }
  }

  #begin(body: EngineCall, pending: PendingCall): number {
    if (this.#lostReason !== undefined) throw lostError(this.#lostReason);
    const call = this.#nextCall++;
    this.#calls.set(call, pending);
    this.#send({ kind: 'call', call, body });
    return call;
  }

  /** Tells the engine that nobody waits for the call; nothing when it has ended. */
  #abandon(call: number): void {
    if (!this.#calls.delete(call) || this.#lostReason !== undefined) return;
    this.#send({ kind: 'abort', call });
  }

  #deliver(item: EngineItem): void {
    const pending = this.#calls.get(item.call);
    if (pending === undefined) return; // abandoned: its last items were on the way
    if (item.kind === 'event') {
      pending.onEvent(item.event);
      return;
    }
    this.#calls.delete(item.call);
    if (item.kind === 'error') pending.onError(revived(item.error));
    else pending.onEnd(item.kind === 'value' ? item.value : null);
  }
}

const revived = (error: OstrakaErrorJson): OstrakaError => new OstrakaError(error);

const lostError = (reason: string): OstrakaError =>
  platformError('ENGINE_LOST', `the engine process is gone: ${reason}`, { data: { reason } });
