import type { EmbeddingFacts, TextPiece } from '../../platform/index.js';
import type { EmbeddingKind, EmbeddingPack, EmbeddingQueue } from './EmbeddingQueue.js';
import { pieceAt } from './pieceAt.js';

/** A long text that is read up to a place. */
interface Reading {
  readonly pack: EmbeddingPack;
  readonly kind: EmbeddingKind;
  readonly from: number;
}

/** What one pass computes: a pack, or a piece of its only text. */
export interface EmbeddingPass {
  readonly pack: EmbeddingPack;
  readonly piece?: TextPiece;
}

/**
 * Which pass of an embedding model comes next. A long text is read piece by piece, one text at a time: between two pieces a pack of other
 * requests has its turn, and a text that nobody waits for any more is not read on. A patient one begins anew where a long text of others
 * comes, which would else wait for all of it.
 */
export class EmbeddingTurns {
  readonly #queue: EmbeddingQueue;
  readonly #facts: Pick<EmbeddingFacts, 'passTokensMax' | 'packTokensMax'>;
  #reading: Reading | undefined;
  #wasPiece = false;

  constructor(queue: EmbeddingQueue, facts: Pick<EmbeddingFacts, 'passTokensMax' | 'packTokensMax'>) {
    this.#queue = queue;
    this.#facts = facts;
  }

  next(kind: EmbeddingKind): EmbeddingPass | undefined {
    if (this.#reading?.pack.isWanted() === false) this.#reading = undefined;
    const own = this.#reading?.kind === kind ? this.#reading : undefined;
    if (own !== undefined && !this.#wasPiece) return this.#piece(own);
    const pack = this.#nextPack(kind);
    if (pack === undefined) return own && this.#piece(own);
    if (pack.isLong) return this.#piece({ pack, kind, from: 0 });
    this.#wasPiece = false;
    return { pack };
  }

  #nextPack(kind: EmbeddingKind): EmbeddingPack | undefined {
    const reading = this.#reading;
    const pack = this.#queue.nextPack(kind, reading && this.#facts.passTokensMax);
    const isHeldUp = pack === undefined && kind === 'other' && reading?.kind === 'patient' && this.#queue.has('other');
    if (!isHeldUp) return pack;
    reading.pack.giveBack();
    this.#reading = undefined;
    return this.#queue.nextPack(kind);
  }

  #piece({ pack, kind, from }: Reading): EmbeddingPass {
    const piece = pieceAt(from, { length: pack.tokens, rowsMax: this.#facts.packTokensMax });
    this.#reading = piece.to < pack.tokens ? { pack, kind, from: piece.to } : undefined;
    this.#wasPiece = true;
    return { pack, piece };
  }
}
