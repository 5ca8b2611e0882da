import { AsyncQueue } from '../base/index.js';
import { adapterKey, type GenerateEvent, type GenerateRequest, type SamplingOptions, toolCallForm } from '../platform/index.js';
import { AnswerText } from './AnswerText.js';
import type { GrammarMatcher } from './grammar/GrammarMatcher.js';
import { PendingLogprobs } from './PendingLogprobs.js';
import type { SuspendedRows } from './pages/PagedKVCache.js';
import { logprobsOf } from './sampling/logprobsOf.js';
import { sampleToken } from './sampling/sampleToken.js';
import { noSequence, type ScheduledRequest } from './schedule/ContinuousBatchScheduler.js';
import type { DraftOptions } from './speculation/DraftOptions.js';
import { DraftRecord } from './speculation/DraftRecord.js';
import { PromptLookup } from './speculation/PromptLookup.js';

// Beside one event a token: admitted, finished, and one progress at a time.
const eventsBeyondTokens = 4;

export interface GenerationTaskOptions {
  readonly request: GenerateRequest;
  readonly prompt: Int32Array;
  readonly seed: number;
  readonly submittedMs: number;
  readonly endTokens: ReadonlySet<number>;
  /** Of a constrained request, at the beginning of the answer. */
  readonly matcher: GrammarMatcher | undefined;
  /** The consumer stopped reading. */
  readonly onReturn: () => void;
  /** Service level: time to the first token, ms. */
  readonly firstTokenMs: number;
  /** Of tokens drafted from what was said before; `draftTokensMax` 0 = none. */
  readonly drafts: DraftOptions & { readonly draftTokensMax: number };
}

/** What drawing a token takes beside its logits. */
export interface SampleMeans {
  /** As SampleRequest has it. */
  readonly scratch: Float32Array;
  readonly tokenBytes: (token: number) => Uint8Array;
  readonly nowMs: number;
}

/**
 * One generation from submission to its last event: the answer so far, the text that may be shown, the events. Knows neither model nor
 * scheduler. Events are bounded by the tokens that were asked for.
 */
export class GenerationTask implements ScheduledRequest {
  readonly requestId: string;
  readonly adapterGroup: string | null;
  readonly priority: GenerateRequest['priority'];
  readonly owner: string;
  readonly streamed: boolean;
  readonly prompt: Int32Array;
  readonly submittedMs: number;
  readonly events: AsyncQueue<GenerateEvent>;
  sequence: number = noSequence;
  admission = 0;
  admittedMs = 0;
  waitingSinceMs: number;
  prefilledTokens = 0;
  replayTokens = 0;
  replayedTokens = 0;
  /** Rows that wait in a buffer while the request is suspended. */
  suspended: SuspendedRows | undefined;
  /** Prompt tokens that were not computed, since another prompt had them. */
  cachedTokens = 0;
  /** What the request held is given back; the engine sets it. */
  retired = false;

  readonly #sampling: SamplingOptions;
  readonly #seed: number;
  readonly #endTokens: ReadonlySet<number>;
  readonly #matcher: GrammarMatcher | undefined;
  readonly #answer: number[] = [];
  readonly #text: AnswerText;
  readonly #logprobs = new PendingLogprobs();
  readonly #firstTokenDueMs: number;
  readonly #draftTokensMax: number;
  readonly #lookup: PromptLookup | undefined;
  readonly #drafts: DraftRecord;
  #draft: readonly number[] = [];
  #draftedAt = -1;
  #tokensShown = 0;
  #tokensBeforeTurn = 0;
  /** Negative until the first admission. */
  #queueMs = -1;
  #firstTokenMs = 0;
  #lastEventMs: number;
  #finished = false;

  constructor({ request, prompt, seed, submittedMs, endTokens, matcher, onReturn, firstTokenMs, drafts }: GenerationTaskOptions) {
    this.requestId = request.requestId;
    this.adapterGroup = request.adapter === undefined ? null : adapterKey(request.adapter);
    this.priority = request.priority;
    this.owner = request.owner ?? '';
    this.streamed = request.streamed ?? true;
    this.prompt = prompt;
    this.submittedMs = submittedMs;
    this.waitingSinceMs = submittedMs;
    this.events = new AsyncQueue({ itemsMax: request.sampling.tokensMax + eventsBeyondTokens, onReturn });
    this.#sampling = request.sampling;
    this.#seed = seed;
    this.#endTokens = endTokens;
    this.#matcher = matcher;
    // A call is no text: a stop string in it would leave half of one.
    this.#text = new AnswerText(
      request.tools?.isRequired ? [] : request.sampling.stop,
      request.tools === undefined ? undefined : toolCallForm.opening,
    );
    this.#lastEventMs = submittedMs;
    this.#firstTokenDueMs = submittedMs + firstTokenMs;
    this.#draftTokensMax = drafts.draftTokensMax;
    this.#lookup = drafts.draftTokensMax > 0 ? new PromptLookup(prompt) : undefined;
    this.#drafts = new DraftRecord(drafts);
  }

  get promptTokens(): number {
    return this.prompt.length;
  }

  get turnTokens(): number {
    return this.#answer.length - this.#tokensBeforeTurn;
  }

  /** Rows it has had in its sequence: what it needs room for when it comes back. */
  get rows(): number {
    return this.prefilledTokens + Math.max(0, this.#answer.length - 1);
  }

  get answered(): boolean {
    return this.#answer.length > 0;
  }

  get begun(): boolean {
    return this.#queueMs >= 0;
  }

  /** A request that has answered waits for no first token. */
  get firstTokenDueMs(): number {
    return this.answered ? Number.POSITIVE_INFINITY : this.#firstTokenDueMs;
  }

  get answerTokensLeft(): number {
    return this.#sampling.tokensMax - this.#answer.length;
  }

  get answerIsLong(): boolean {
    return this.#sampling.ignoreEnd;
  }

  get answer(): readonly number[] {
    return this.#answer;
  }

  /** Tokens of the answer so far. */
  get answerTokens(): number {
    return this.#answer.length;
  }

  /** Tokens at the positions from `from` on, of prompt and answer. */
  tokensAt(from: number, count: number): readonly number[] {
    const inPrompt = this.prompt.subarray(from, from + count);
    const start = Math.max(0, from - this.prompt.length);
    return [...inPrompt, ...this.#answer.slice(start, start + count - inPrompt.length)];
  }

  /** The request has its sequence back with so many of its rows in it. */
  resumed(tokens: number): void {
    this.#tokensBeforeTurn = this.#answer.length;
    this.suspended = undefined;
    this.prefilledTokens = Math.min(tokens, this.prompt.length);
    this.replayedTokens = Math.max(0, tokens - this.prompt.length);
    this.replayTokens = Math.max(0, this.#answer.length - 1); // the newest token's row is the next one anyhow
  }

  /** All events are out. */
  get finished(): boolean {
    return this.#finished;
  }

  /** The row that follows what is computed: the newest token of the answer. */
  get nextRow(): { readonly token: number; readonly position: number } {
    return { token: this.#answer.at(-1) as number, position: this.prompt.length + this.#answer.length - 1 };
  }

  admitted(nowMs: number): void {
    if (this.#queueMs >= 0) return;
    this.#queueMs = nowMs - this.submittedMs;
    this.#push({ kind: 'admitted', promptTokens: this.prompt.length }, nowMs);
  }

  /** Work was done for the request. Says so when nothing was said for `intervalMs`, and only to a consumer that keeps up. */
  progressed(nowMs: number, intervalMs: number): void {
    if (this.#finished || this.events.length > 0 || nowMs - this.#lastEventMs < intervalMs) return;
    this.#push({ kind: 'progress' }, nowMs);
  }

  /** Tokens drafted to follow the newest one; empty where drafting is off or nothing is known. */
  get draft(): readonly number[] {
    if (this.#draftedAt !== this.#answer.length) {
      this.#draftedAt = this.#answer.length;
      this.#draft = this.#lookup?.draft(Math.min(this.#draftTokensMax, this.answerTokensLeft - 1)) ?? [];
    }
    return this.#draft;
  }

  get draftedTokens(): number {
    return this.draft.length;
  }

  get draftShare(): number {
    return this.#drafts.share;
  }

  /** The newest token and the drafted ones that a step verifies, with their positions; where fewer are drafted, rows for nothing. */
  nextRows(draftTokens: number): readonly { readonly token: number; readonly position: number }[] {
    const { token, position } = this.nextRow;
    const rows = Array.from({ length: 1 + draftTokens }, (_, place) => (place === 0 ? token : (this.draft[place - 1] ?? token)));
    return rows.map((each, place) => ({ token: each, position: position + place }));
  }

  /**
   * Draws a token after each row of a step as long as the drafted ones turn out to be what is drawn: whatever is drafted, the answer is
   * that of steps of one row (R26). Returns how many rows were right: the first, and those of right drafted tokens.
   */
  verify(draftTokens: number, logitsOf: (row: number) => Float32Array, means: SampleMeans): number {
    const draft = this.draft.slice(0, draftTokens);
    let right = 0;
    this.sample(logitsOf(0), means);
    while (!this.#finished && right < draft.length && this.#answer.at(-1) === draft[right]) {
      right++;
      this.sample(logitsOf(right), means);
    }
    if (draft.length > 0) this.#drafts.tried(draft.length, right);
    else this.#drafts.rested();
    return 1 + right;
  }

  /** Picks the next token from the logits after the newest row and emits what it makes showable. */
  sample(logits: Float32Array, { scratch, tokenBytes, nowMs }: SampleMeans): void {
    const token = this.#nextToken(logits, scratch);
    if (this.#firstTokenMs === 0) this.#firstTokenMs = nowMs - this.submittedMs;
    if (this.#endTokens.has(token) || this.#sampling.stopTokens.includes(token)) {
      this.#finish('stop', this.#text.finish(), nowMs);
      return;
    }
    this.#answer.push(token);
    this.#lookup?.push(token);
    this.#matcher?.advance(token);
    const bytes = tokenBytes(token);
    const { text, stop } = this.#text.push(bytes);
    const { logprobsTop } = this.#sampling;
    if (logprobsTop !== undefined) this.#logprobs.push(logprobsOf(logits, token, { topCount: logprobsTop, tokenBytes }));
    if (stop !== undefined) {
      this.#logprobs.dropBeyond(text);
      this.#finish('stop', text, nowMs, stop);
    } else if (this.#matcher?.mustEnd) this.#finish('stop', text + this.#text.finish(), nowMs);
    else if (this.#answer.length >= this.#sampling.tokensMax) this.#finish('length', text + this.#text.finish(), nowMs);
    else this.#show(text, nowMs);
  }

  #nextToken(logits: Float32Array, scratch: Float32Array): number {
    const request = { logits, scratch, sampling: this.#sampling, seed: this.#seed, answer: this.#answer, endTokens: this.#endTokens };
    return sampleToken(this.#matcher === undefined ? request : { ...request, filter: this.#matcher });
  }

  fail(error: unknown): void {
    this.#finished = true;
    this.events.fail(error);
  }

  #show(text: string, nowMs: number): void {
    if (text === '') return;
    const tokens = this.#answer.length - this.#tokensShown;
    this.#tokensShown = this.#answer.length;
    const logprobs = this.#logprobs.take(text);
    this.#push({ kind: 'text', text, tokens, ...(this.#sampling.logprobsTop !== undefined && { logprobs }) }, nowMs);
  }

  #finish(finishReason: 'stop' | 'length', lastText: string, nowMs: number, stopText?: string): void {
    this.#show(lastText, nowMs);
    const usage = { promptTokens: this.prompt.length, completionTokens: this.#answer.length, cachedTokens: this.cachedTokens };
    const timing = { queueMs: this.#queueMs, firstTokenMs: this.#firstTokenMs, totalMs: nowMs - this.submittedMs };
    this.#push({ kind: 'finished', finishReason, ...(stopText !== undefined && { stopText }), usage, timing }, nowMs);
    this.#finished = true;
    this.events.close();
  }

  #push(event: GenerateEvent, nowMs: number): void {
    this.#lastEventMs = nowMs;
    this.events.push(event);
  }
}
