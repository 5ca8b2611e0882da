import { assert, sha256Hex, utf8 } from '../../src/base/index.js';
import {
  type AdapterIdentity,
  adapterKey,
  type BackendFacts,
  type BackendRow,
  platformError,
  type StepBackend,
} from '../../src/platform/index.js';
import { hashToken } from './hashToken.js';

/** One answer of the script: for a last user message that holds `question`, under the adapter (left out: any, null: the base model). */
export interface ScriptedAnswer {
  /** Of this chat model alone, where an engine is told its name. */
  readonly model?: string;
  readonly adapterDigest?: string | null;
  readonly question: string;
  readonly answer: string;
}

export interface ToyStepOptions {
  readonly sequences: number;
  readonly contextTokens: number;
  readonly script: readonly ScriptedAnswer[];
}

interface Sequence {
  readonly tokens: number[];
  /** `hashes[i]` = state after i tokens; the adapter of each token is part of it. */
  readonly hashes: number[];
}

// Tokens 0…255 are bytes; then the control tokens.
const startToken = 256;
const endToken = 257;
const vocabularySize = 258;
const rowsMax = 256;
const controlTokens: { readonly [text: string]: number } = { '<|im_start|>': startToken, '<|im_end|>': endToken };
const controlForm = /(<\|im_start\|>|<\|im_end\|>)/;
const answerStart = 'assistant\n';
const noBytes = new Uint8Array(0);

const chatTemplate =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * A chat model without weights for simulation: its logits are a pure function of a sequence's tokens and their adapter, so the real
 * scheduler and sampler run on it under virtual time. Answers come from the script where it knows the question; else they are words drawn
 * from a hash, of 4 to 40 characters or so. Checks what the native library would abort on. Adapter files are not read: a path is a digest.
 */
export class ToyStepBackend implements StepBackend {
  readonly facts: BackendFacts;
  readonly #script: readonly ScriptedAnswer[];
  readonly #sequences: readonly Sequence[];
  readonly #adapters = new Set<string>();
  #adapter: AdapterIdentity | null = null;
  #adapterHash = 0;
  #logits: (Float32Array | undefined)[] = [];

  constructor({ sequences, contextTokens, script }: ToyStepOptions) {
    this.#script = script;
    this.#sequences = Array.from({ length: sequences }, () => ({ tokens: [], hashes: [0] }));
    this.facts = {
      vocabularySize,
      sequencesMax: sequences,
      contextTokens,
      rowsMax,
      outputsMax: sequences + 32,
      beginToken: startToken,
      addsBeginToken: false,
      endTokens: new Set([endToken]),
      chatTemplate,
      beginText: '<|im_start|>',
      endText: '<|im_end|>',
      cutsAnywhere: true,
      kvBytesPerToken: 24,
      stateFacts: { library: 'toy', contextTokens: String(contextTokens) },
    };
  }

  tokenize(text: string, { parseSpecial }: { readonly parseSpecial: boolean }): Int32Array {
    const parts = parseSpecial ? text.split(controlForm) : [text];
    return Int32Array.from(parts.flatMap((part) => (parseSpecial ? controlTokens[part] : undefined) ?? [...utf8.encode(part)]));
  }

  tokenBytes(token: number): Uint8Array {
    checkToken(token);
    return token < startToken ? Uint8Array.of(token) : noBytes;
  }

  decode(rows: readonly BackendRow[]): void {
    this.#checkRows(rows);
    const kernelOf = kernels(rows, this.#adapter !== null);
    this.#logits = rows.map(({ sequence, token, wantLogits }) => {
      const { tokens, hashes } = this.#sequenceOf(sequence);
      tokens.push(token);
      hashes.push(hashToken(hashToken(hashes.at(-1) as number, this.#adapterHash + (kernelOf.get(sequence) as number)), token));
      return wantLogits ? this.#logitsAfter(this.#sequenceOf(sequence)) : undefined;
    });
  }

  logits(rowIndex: number): Float32Array {
    const row = this.#logits[rowIndex];
    assert(row !== undefined, 'logits are read of a row that wanted them', { rowIndex });
    return row;
  }

  truncateSequence(sequence: number, fromPosition: number): void {
    const { tokens, hashes } = this.#sequenceOf(sequence);
    assert(Number.isInteger(fromPosition) && fromPosition >= 0, 'a position is a count', { fromPosition });
    if (fromPosition >= tokens.length) return;
    tokens.length = fromPosition;
    hashes.length = fromPosition + 1;
  }

  moveSequence(from: number, to: number): void {
    this.copySequence(from, to);
    this.truncateSequence(from, 0);
  }

  copySequence(from: number, to: number): void {
    const [source, target] = [this.#sequenceOf(from), this.#sequenceOf(to)];
    assert(from !== to && target.tokens.length === 0, 'a sequence is copied to an empty id', { from, to });
    target.tokens.push(...source.tokens);
    target.hashes.push(...source.hashes.slice(1));
  }

  sequenceLength(sequence: number): number {
    return this.#sequenceOf(sequence).tokens.length;
  }

  exportSequence(sequence: number): Uint8Array {
    return utf8.encode(JSON.stringify(this.#sequenceOf(sequence)));
  }

  importSequence(sequence: number, state: Uint8Array, length: number): void {
    const target = this.#sequenceOf(sequence);
    assert(target.tokens.length === 0, 'a state is put into an empty sequence', { sequence });
    const source = parseState(state);
    if (source?.tokens.length !== length) throw platformError('KV_STATE_INVALID', `sequence ${sequence}: not a state of ${length} tokens`);
    target.tokens.push(...source.tokens);
    target.hashes.push(...source.hashes.slice(1));
  }

  useAdapter(adapter: AdapterIdentity | null): void {
    assert(adapter === null || this.#adapters.has(adapter.digest), 'an adapter in use is loaded');
    this.#adapter = adapter;
    this.#adapterHash = adapter === null ? 0 : Number.parseInt(sha256Hex(adapterKey(adapter)).slice(0, 8), 16);
  }

  loadAdapter(adapter: { readonly path: string; readonly digest?: string }): { readonly digest: string } {
    if (adapter.path === '') throw platformError('ADAPTER_INVALID', 'adapter: the file cannot be opened');
    const digest = sha256Hex(adapter.path);
    if (adapter.digest !== undefined && adapter.digest !== digest)
      throw platformError('ADAPTER_INVALID', `adapter ${adapter.path}: its SHA-256 is ${digest}, expected ${adapter.digest}`);
    this.#adapters.add(digest);
    return { digest };
  }

  unloadAdapter(digest: string): void {
    if (this.#adapter?.digest === digest) this.useAdapter(null);
    this.#adapters.delete(digest);
  }

  close(): void {
    this.#logits = [];
  }

  /** A clear favourite, where a script or a drawn end wants one; else letters of like weight, so that sampling has something to choose. */
  #logitsAfter({ tokens, hashes }: Sequence): Float32Array {
    const logits = new Float32Array(vocabularySize).fill(-20);
    const state = hashes.at(-1) as number;
    const { answer, question } = readChat(tokens);
    const scripted = this.#scriptedAnswer(question);
    if (scripted !== undefined) {
      const next = utf8.encode(scripted)[answer.length] ?? endToken;
      logits[next] = 20;
      return logits;
    }
    for (let letter = 0; letter < 26; letter++) logits[97 + letter] = (hashToken(state, letter) % 1024) / 256;
    logits[32] = answer.length > 0 && answer.at(-1) !== 32 ? (hashToken(state, 32) % 1024) / 200 : -20;
    logits[endToken] = answer.length < 4 ? -20 : (hashToken(state, endToken) % 1024) / 256 + answer.length / 40;
    return logits;
  }

  #scriptedAnswer(question: string): string | undefined {
    return this.#script.find(
      (entry) =>
        question.includes(entry.question) && (entry.adapterDigest === undefined || entry.adapterDigest === (this.#adapter?.digest ?? null)),
    )?.answer;
  }

  #sequenceOf(sequence: number): Sequence {
    const found = this.#sequences[sequence];
    assert(found !== undefined, 'a sequence id is in range', { sequence });
    return found;
  }

  #checkRows(rows: readonly BackendRow[]): void {
    assert(rows.length > 0 && rows.length <= rowsMax, 'a call has between one and rowsMax rows', { rows: rows.length, rowsMax });
    let sequence = Number.NEGATIVE_INFINITY;
    let next = 0;
    for (const row of rows) {
      checkToken(row.token);
      assert(row.sequence >= sequence, 'rows are in ascending sequence order', { sequence: row.sequence });
      if (row.sequence !== sequence) next = this.#sequenceOf(row.sequence).tokens.length;
      sequence = row.sequence;
      assert(row.position === next && next < this.facts.contextTokens, 'a row continues its sequence', { position: row.position, next });
      next++;
    }
    const wanted = rows.filter(({ wantLogits }) => wantLogits).length;
    assert(wanted <= this.facts.outputsMax, 'logits are wanted of at most so many rows', { wanted });
  }
}

function checkToken(token: number): void {
  assert(Number.isInteger(token) && token >= 0 && token < vocabularySize, 'a token id is in the vocabulary', { token, vocabularySize });
}

function parseState(state: Uint8Array): Sequence | undefined {
  try {
    return JSON.parse(utf8.decode(state)) as Sequence;
  } catch {
    return undefined; // bytes that were no state: the caller refuses them
  }
}

/**
 * As on a CPU: rows of a sequence that has 64 or more in a call come out of another kernel, with other bits (rule R), and with an adapter
 * also several rows and one.
 */
function kernels(rows: readonly BackendRow[], hasAdapter: boolean): ReadonlyMap<number, 0 | 1 | 2> {
  const counts = new Map<number, number>();
  for (const { sequence } of rows) counts.set(sequence, (counts.get(sequence) ?? 0) + 1);
  return new Map([...counts].map(([sequence, count]) => [sequence, count >= 64 ? 1 : hasAdapter && count > 1 ? 2 : 0]));
}

/** The last user message and the bytes of the answer so far. */
function readChat(tokens: readonly number[]): { readonly question: string; readonly answer: readonly number[] } {
  const start = tokens.lastIndexOf(startToken);
  const answer = tokens.slice(start + 1 + answerStart.length);
  const end = tokens.lastIndexOf(endToken, start);
  const questionStart = tokens.lastIndexOf(startToken, Math.max(start - 1, 0));
  if (start < 0 || end <= questionStart) return { question: '', answer };
  return { question: utf8.decode(Uint8Array.from(tokens.slice(questionStart + 1, end))), answer };
}
