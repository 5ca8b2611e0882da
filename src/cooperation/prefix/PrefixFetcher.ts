import { type OstrakaError, type ShardId, SharedWork, toOstrakaError } from '../../base/index.js';
import { PrefixDirectory, type PrefixHolder, type TopologyView } from '../../membership/index.js';
import {
  type Clock,
  type GenerateRequest,
  type Logger,
  type PrefixArrival,
  type PrefixExchange,
  type PrefixPart,
  platformError,
  prefixUnitTokens,
} from '../../platform/index.js';
import { deadlineSignal, type RemoteExecutor } from '../../rpc/index.js';
import type { CooperationMetrics } from '../metrics.js';
import type { CooperationOptions } from '../options.js';
import { chooseTransfer } from './chooseTransfer.js';
import { inOrder } from './inOrder.js';
import { readEnvelope } from './readEnvelope.js';
import { TransferCosts } from './TransferCosts.js';

export interface PrefixFetcherParts {
  readonly local: PrefixExchange;
  readonly executor: RemoteExecutor;
  readonly topology: () => TopologyView;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: CooperationMetrics;
  readonly options: CooperationOptions;
}

/** What a shard is asked for. */
type Held = Pick<PrefixHolder, 'shardId' | 'digest'>;

/** One answer of a holder, as far as it came. */
interface Move {
  readonly beganMs: number;
  /** Until the first frame; undefined before. */
  firstMs: number | undefined;
  bytes: number;
}

/**
 * Brings the rows of a prompt's beginning here from a shard that has computed them, where that is quicker than to compute them (R27, paper
 * §IV-D). An optimisation and no more: whatever goes wrong, the request goes on and its prompt is computed; the reason is counted.
 */
export class PrefixFetcher {
  readonly #parts: PrefixFetcherParts;
  readonly #directory = new PrefixDirectory();
  readonly #costs: TransferCosts;
  readonly #moves = new SharedWork<void>();

  constructor(parts: PrefixFetcherParts) {
    this.#parts = parts;
    this.#costs = new TransferCosts(parts);
  }

  /** Before a request is given to this shard's engine. Throws only what `signal` says. */
  async prepare(request: GenerateRequest, signal: AbortSignal): Promise<void> {
    const { metrics, logger } = this.#parts;
    if (!this.#mayBeHeld(request)) return;
    try {
      await this.#bring(request, signal);
    } catch (thrown) {
      signal.throwIfAborted();
      const error = toOstrakaError(thrown);
      metrics.prefixTransfers.add(1, { outcome: outcomeOf(error) });
      logger.info('prefix.not_moved', { request: request.requestId, code: error.code, message: error.message });
    }
  }

  /** Tokens of the prompt that living shards have rows of, this one among them; empty where that takes long to tell. Throws only what `signal` says. */
  async tokensOf(request: GenerateRequest, signal: AbortSignal): Promise<ReadonlyMap<ShardId, number>> {
    const { local, executor, topology, clock, options } = this.#parts;
    if (!this.#mayBeHeld(request)) return new Map();
    const deadline = deadlineSignal({ clock, deadlineMs: options.prefixLookupMsMax, signal });
    try {
      const lookup = await local.prefixOf(request, deadline.signal);
      if (lookup === undefined) return new Map();
      const holders = this.#directory.holders(lookup.digests, topology(), executor.selfShardId);
      const own = lookup.heldTokens >= prefixUnitTokens ? [[executor.selfShardId, lookup.heldTokens] as const] : [];
      return new Map([...holders.map(({ shardId, tokens }) => [shardId, tokens] as const), ...own]);
    } catch {
      signal.throwIfAborted();
      return new Map(); // a prompt that cannot be asked is refused where it is answered
    } finally {
      deadline.cancel();
    }
  }

  /** Asks one shard for one prefix, whatever it costs. Errors: those of `writePrefix` and of the call. */
  async fetch(holder: Held, signal: AbortSignal): Promise<void> {
    await this.#moves.run(holder.digest, (workSignal) => this.#move(holder, workSignal), signal);
  }

  #mayBeHeld({ prompt = '', messages }: GenerateRequest): boolean {
    const { executor, topology, options } = this.#parts;
    const characters = messages.reduce((sum, { content }) => sum + content.length, prompt.length);
    return characters >= options.prefixCharactersMin && !this.#directory.isEmpty(topology(), executor.selfShardId);
  }

  async #bring(request: GenerateRequest, signal: AbortSignal): Promise<void> {
    const { local, executor, topology, clock, metrics, options } = this.#parts;
    const lookup = await local.prefixOf(request, signal);
    if (lookup === undefined) return;
    const view = topology();
    this.#costs.keepOnly(new Set(view.members.map(({ shardId }) => shardId)));
    const holders = this.#directory
      .holders(lookup.digests, view, executor.selfShardId)
      .filter(({ shardId }) => executor.breakerOf(shardId).admits);
    const choice = chooseTransfer(lookup, holders, (shardId) => this.#costs.of(shardId), options);
    if (choice.kind === 'compute') {
      if (choice.reason !== 'unknown') metrics.prefixTransfers.add(1, { outcome: choice.reason });
      return;
    }
    if (this.#moves.size >= options.prefixMovesMax)
      throw platformError('KV_PREFIX_NO_ROOM', `${this.#moves.size} prefixes are on their way`);
    const deadline = deadlineSignal({ clock, deadlineMs: choice.budgetMs, signal });
    try {
      await this.fetch(choice.holder, deadline.signal);
    } finally {
      deadline.cancel();
    }
  }

  /** Once more from where it broke, should the connection be lost. */
  async #move(holder: Held, signal: AbortSignal): Promise<void> {
    const progress = { receivedBytes: 0 };
    try {
      await this.#read(holder, progress, signal);
    } catch (thrown) {
      if (progress.receivedBytes === 0 || toOstrakaError(thrown).code !== 'SHARD_UNAVAILABLE') throw thrown;
      await this.#read(holder, progress, signal);
    }
  }

  async #read(holder: Held, progress: { receivedBytes: number }, signal: AbortSignal): Promise<void> {
    const move: Move = { beganMs: this.#parts.clock.monotonicMs(), firstMs: undefined, bytes: 0 };
    const began = progress.receivedBytes;
    let isWhole = false;
    try {
      isWhole = await this.#take(this.#partsFrom(holder, { offset: began, move, signal }), progress, signal);
    } finally {
      this.#measure(holder.shardId, move);
    }
    if (isWhole) this.#arrived(holder.shardId, move);
    else if (progress.receivedBytes > began) await this.#read(holder, progress, signal);
    else throw platformError('KV_PREFIX_DAMAGED', `shard ${holder.shardId} sent less of ${holder.digest} than it has`);
  }

  /** Gives the parts to the engine; whether it then has the whole prefix. Where it had some of it before, `progress` says so and nothing is taken. */
  async #take(parts: AsyncGenerator<PrefixPart, void, void>, progress: { receivedBytes: number }, signal: AbortSignal): Promise<boolean> {
    const { local, options } = this.#parts;
    const write = (part: PrefixPart): Promise<PrefixArrival> => local.writePrefix(part, signal);
    try {
      const { value: header } = await parts.next();
      if (header === undefined) return false;
      const before = await write(header);
      const goesOn = before.receivedBytes === progress.receivedBytes && !before.isWhole;
      progress.receivedBytes = before.receivedBytes;
      if (!goesOn) return before.isWhole;
      for await (const arrival of inOrder(parts, options.prefixPiecesAhead, write)) {
        progress.receivedBytes = arrival.receivedBytes;
        if (arrival.isWhole) return true;
      }
      return false;
    } finally {
      await parts.return();
    }
  }

  /** The header alone first; notes when that came, and the bytes that follow. */
  async *#partsFrom(
    { shardId, digest }: Held,
    { offset, move, signal }: { readonly offset: number; readonly move: Move; readonly signal: AbortSignal },
  ): AsyncGenerator<PrefixPart, void, void> {
    const { executor, clock, options } = this.#parts;
    const frames = executor.stream({
      shardId,
      method: 'kv_prefix/export',
      body: { digest, offset },
      signal,
      deadlineMs: options.prefixMoveMsMax,
      idempotent: true,
      channel: 'bulk',
    });
    for await (const part of readEnvelope(frames)) {
      move.firstMs ??= clock.monotonicMs() - move.beganMs;
      move.bytes += part.bytes.length;
      yield part;
    }
  }

  #measure(shardId: ShardId, { beganMs, firstMs, bytes }: Move): void {
    const tookMs = this.#parts.clock.monotonicMs() - beganMs;
    this.#costs.measured(shardId, { callMs: firstMs ?? tookMs, bytes, bytesMs: tookMs - (firstMs ?? 0) });
    this.#parts.metrics.prefixBytes.add(bytes);
  }

  #arrived(shardId: ShardId, { beganMs }: Move): void {
    const { clock, metrics, logger } = this.#parts;
    logger.debug('prefix.moved', { shard: shardId });
    metrics.prefixTransfers.add(1, { outcome: 'moved' });
    metrics.prefixSeconds.observe((clock.monotonicMs() - beganMs) / 1000);
  }
}

const outcomes: { readonly [code: string]: string } = {
  KV_PREFIX_UNKNOWN: 'gone',
  KV_PREFIX_MISMATCH: 'mismatch',
  KV_PREFIX_DAMAGED: 'damaged',
  KV_PREFIX_NO_ROOM: 'no_room',
  KV_PREFIX_BUSY: 'busy',
  DEADLINE_EXCEEDED: 'too_slow',
};

const outcomeOf = ({ code }: OstrakaError): string => outcomes[code] ?? 'lost';
