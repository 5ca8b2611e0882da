import { assert, type OstrakaError, raceAbort, toOstrakaError } from '../../base/index.js';
import {
  type EmbeddingBackend,
  type EmbeddingFacts,
  type EmbedRequest,
  type EmbedResult,
  platformError,
  type RerankRequest,
  type RerankResult,
} from '../../platform/index.js';
import type { InferenceOptions } from '../options.js';
import { checkToken } from '../sampling/checkToken.js';
import { dotProduct } from './dotProduct.js';
import { type EmbeddingJob, EmbeddingQueue } from './EmbeddingQueue.js';
import { type EmbeddingPass, EmbeddingTurns } from './EmbeddingTurns.js';
import type { FittedText } from './FittedText.js';
import { fitPair } from './fitPair.js';
import { fitText } from './fitText.js';
import { PatientShare } from './PatientShare.js';
import { shapeVector } from './shapeVector.js';

export interface EmbeddingServiceParts {
  readonly backend: EmbeddingBackend;
  /** Told by the operator, beside what the model's file says. */
  readonly dimensionsShorter: readonly number[] | undefined;
  readonly options: InferenceOptions;
  /** Lets others run for a moment. */
  readonly pause: () => Promise<void>;
  /** Throws where the request is over, or the engine, whose models are then freed. */
  readonly checkOpen: (signal: AbortSignal) => void;
  /** Somebody waits for a pack. */
  readonly wake: () => void;
}

interface PassTurn {
  readonly nowMs: number;
  readonly isBusy: boolean;
  readonly onFailed: (error: OstrakaError) => void;
}

// A megabyte takes a third of a second to tokenise: after so much of a request the engine looks after the others.
const charactersBetweenPauses = 65_536;

/**
 * Vectors of texts and scores of documents, in packs of one pass over the embedding model (R23, RERANK of R14). Everything that can refuse
 * a request happens before it waits; a text is cut only where the request allows it, and then the result says by how much.
 * Errors: MODEL_KIND_WRONG, DIMENSIONS_NOT_SUPPORTED, CONTEXT_LENGTH_EXCEEDED, TOKEN_UNKNOWN, QUEUE_FULL.
 */
export class EmbeddingService {
  readonly #parts: EmbeddingServiceParts;
  readonly #queue: EmbeddingQueue;
  readonly #turns: EmbeddingTurns;
  readonly #patient: PatientShare;

  constructor(parts: EmbeddingServiceParts) {
    this.#parts = parts;
    const { packTokensMax, passTokensMax } = parts.backend.facts;
    this.#queue = new EmbeddingQueue({ requestsMax: parts.options.embedRequestsMax, packTokensMax, passTokensMax });
    this.#turns = new EmbeddingTurns(this.#queue, parts.backend.facts);
    this.#patient = new PatientShare({ share: parts.options.embedPatientShare });
  }

  /** Requests that wait for packs. */
  get length(): number {
    return this.#queue.length;
  }

  async embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    this.#checkGives('vector');
    const dimensions = this.#dimensionsOf(request);
    const normalize = request.normalize ?? true;
    const { tokens, truncate = false } = request;
    const texts = tokens === undefined ? await this.#readTexts(request.texts, truncate, signal) : this.#readTokens(tokens, truncate);
    const vectors = await this.#run(texts, signal, request.isPatient);
    return { vectors: vectors.map((vector) => Array.from(shapeVector(vector, { dimensions, normalize }))), ...countsOf(texts) };
  }

  async rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    this.#checkCount(request.documents.length);
    return request.method === 'embedding' ? this.#rankByVectors(request, signal) : this.#rankPairs(request, signal);
  }

  /**
   * One pass for those who wait; its rows. A pass that fails, fails all whose texts it holds. `isBusy`: the step serves others, too.
   * `stepEnded` is to follow.
   */
  runPass({ nowMs, isBusy, onFailed }: PassTurn): number {
    const pass = this.#nextPass(nowMs, isBusy);
    if (pass === undefined) return 0;
    try {
      const vectors = this.#vectorsOf(pass);
      if (vectors !== undefined) pass.pack.complete(vectors);
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      onFailed(error);
      pass.pack.fail(error);
    }
    return pass.piece === undefined ? pass.pack.tokens : pass.piece.to - pass.piece.from;
  }

  stepEnded(nowMs: number): void {
    this.#patient.ended(nowMs);
  }

  failAll(error: OstrakaError): void {
    for (const job of this.#queue.jobs()) {
      this.#queue.remove(job);
      job.onFailed(error);
    }
  }

  #nextPass(nowMs: number, isBusy: boolean): EmbeddingPass | undefined {
    const hasOthers = this.#queue.has('other');
    if (!this.#queue.has('patient') || !this.#patient.mayStart(nowMs, isBusy || hasOthers)) return this.#turns.next('other');
    const patient = this.#turns.next('patient');
    // Its only long text may wait until another has been read to its end.
    if (patient === undefined) return this.#turns.next('other');
    this.#patient.started(nowMs);
    return patient;
  }

  /** Undefined: a text has not been read to its end. */
  #vectorsOf({ pack, piece }: EmbeddingPass): readonly Float32Array[] | undefined {
    const { backend } = this.#parts;
    if (piece === undefined) return backend.embed(pack.texts);
    const vector = backend.readPiece(pack.texts[0] as Int32Array, piece);
    return vector && [vector];
  }

  get #facts(): EmbeddingFacts {
    return this.#parts.backend.facts;
  }

  async #rankByVectors({ query, documents, truncate = false }: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    this.#checkGives('vector');
    const [asked] = await this.#readTexts([query], false, signal);
    const texts = await this.#readTexts(documents, truncate, signal);
    const all = [asked as FittedText, ...texts];
    const shape = { dimensions: this.#facts.dimensions, normalize: true };
    const [aim, ...vectors] = (await this.#run(all, signal)).map((vector) => shapeVector(vector, shape));
    // Unit vectors of 32-bit floats are longer than one by a hair at times.
    const scores = vectors.map((vector) => Math.max(-1, Math.min(1, dotProduct(aim as Float32Array, vector))));
    return { scores, ...countsOf(texts), promptTokens: countsOf(all).promptTokens };
  }

  async #rankPairs({ query, documents, truncate = false }: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    this.#checkGives('score');
    const [asked] = await this.#tokenize([query], signal);
    const texts = await this.#tokenize(documents, signal);
    const pairs = texts.map((text, index) => this.#pairOf({ query: asked as Int32Array, text, index }, truncate));
    const scores = (await this.#run(pairs, signal)).map(([logOdds]) => 1 / (1 + Math.exp(-(logOdds as number))));
    return { scores, ...countsOf(pairs) };
  }

  #pairOf(
    { query, text, index }: { readonly query: Int32Array; readonly text: Int32Array; readonly index: number },
    truncate: boolean,
  ): FittedText {
    const pair = fitPair(query, text, this.#facts);
    if (pair === undefined) throw this.#tooLong('the query', { promptTokens: query.length });
    const promptTokens = pair.tokens.length + pair.leftOut;
    if (pair.leftOut > 0 && !truncate) throw this.#tooLong(`the query with document ${index}`, { promptTokens, index });
    return pair;
  }

  async #readTexts(given: readonly string[], truncate: boolean, signal: AbortSignal): Promise<readonly FittedText[]> {
    const texts = await this.#tokenize(given, signal);
    return texts.map((text, index) => this.#fitted(text, { index, truncate }));
  }

  #readTokens(lists: readonly (readonly number[])[], truncate: boolean): readonly FittedText[] {
    this.#checkCount(lists.length);
    return lists.map((list, index) => {
      assert(list.length > 0, 'the border refuses a text without tokens');
      for (const token of list) checkToken(token, this.#facts.vocabularySize);
      return this.#fitted(Int32Array.from(list), { index, truncate });
    });
  }

  #fitted(text: Int32Array, { index, truncate }: { readonly index: number; readonly truncate: boolean }): FittedText {
    const fitted = fitText(text, this.#facts);
    if (fitted.leftOut > 0 && !truncate) throw this.#tooLong(`text ${index}`, { promptTokens: text.length, index });
    return fitted;
  }

  async #tokenize(texts: readonly string[], signal: AbortSignal): Promise<readonly Int32Array[]> {
    this.#checkCount(texts.length);
    for (const [index, text] of texts.entries()) this.#checkCharacters(text, index);
    const tokenised: Int32Array[] = [];
    let characters = 0;
    for (const text of texts) {
      characters += text.length;
      if (characters > charactersBetweenPauses) {
        characters = 0;
        await this.#parts.pause();
        this.#parts.checkOpen(signal);
      }
      tokenised.push(this.#parts.backend.tokenize(text));
    }
    return tokenised;
  }

  async #run(texts: readonly FittedText[], signal: AbortSignal, isPatient = false): Promise<readonly Float32Array[]> {
    if (texts.length === 0) return [];
    this.#parts.checkOpen(signal);
    let job: EmbeddingJob | undefined;
    const done = new Promise<readonly Float32Array[]>((resolve, reject) => {
      job = { texts: texts.map(({ tokens }) => tokens), isPatient, onDone: resolve, onFailed: reject };
      this.#queue.push(job);
    });
    this.#parts.wake();
    try {
      return await raceAbort(done, signal);
    } finally {
      if (job !== undefined) this.#queue.remove(job);
    }
  }

  #dimensionsOf({ dimensions }: EmbedRequest): number {
    const { dimensions: own, dimensionsShorter } = this.#facts;
    const allowed = [own, ...(this.#parts.dimensionsShorter ?? dimensionsShorter)].filter((length) => length <= own);
    if (dimensions === undefined || allowed.includes(dimensions)) return dimensions ?? own;
    throw platformError(
      'DIMENSIONS_NOT_SUPPORTED',
      `the embedding model gives vectors of ${allowed.join(', ')} numbers, not ${dimensions}`,
      {
        data: { param: 'dimensions', dimensions },
      },
    );
  }

  #checkGives(wanted: EmbeddingFacts['gives']): void {
    if (this.#facts.gives === wanted) return;
    const does = wanted === 'score' ? 'gives vectors and scores no pairs of texts' : 'scores pairs of texts and gives no vectors';
    throw platformError('MODEL_KIND_WRONG', `the embedding model ${does}`);
  }

  #checkCount(texts: number): void {
    assert(texts <= this.#parts.options.embedTextsMax, 'the border bounds the texts of a request', { texts });
  }

  #checkCharacters(text: string, index: number): void {
    const { embedCharactersMax: charactersMax } = this.#parts.options;
    if (text.length <= charactersMax) return;
    const message = `text ${index} has ${text.length} characters, at most ${charactersMax} are read`;
    throw platformError('CONTEXT_LENGTH_EXCEEDED', message, { data: { index, characters: text.length, charactersMax } });
  }

  #tooLong(what: string, data: { readonly promptTokens: number; readonly index?: number }): OstrakaError {
    const { textTokensMax: contextTokensMax } = this.#facts;
    const message = `${what} has ${data.promptTokens} tokens, the embedding model takes ${contextTokensMax}`;
    return platformError('CONTEXT_LENGTH_EXCEEDED', message, { data: { ...data, contextTokensMax } });
  }
}

const countsOf = (texts: readonly FittedText[]): { readonly promptTokens: number; readonly tokensLeftOut?: readonly number[] } => {
  const promptTokens = texts.reduce((total, { tokens }) => total + tokens.length, 0);
  if (texts.every(({ leftOut }) => leftOut === 0)) return { promptTokens };
  return { promptTokens, tokensLeftOut: texts.map(({ leftOut }) => leftOut) };
};
