import { assert } from '../../../base/index.js';
import type { LlamaModel } from './LlamaModel.js';

const pieceBytesGuess = 64;
const emptyText = new Uint8Array(1);

/** Text to tokens and back for one vocabulary. Token ids are checked here, since the library aborts the process on a wrong one. */
export class LlamaTokenizer {
  readonly #model: LlamaModel;
  readonly #pieces: (Uint8Array | undefined)[];

  constructor(model: LlamaModel) {
    this.#model = model;
    this.#pieces = new Array<Uint8Array | undefined>(model.vocabularySize);
  }

  /** `addSpecial` puts the model's own begin and end tokens around the text (encoders need them). */
  tokenize(text: string, options: { readonly parseSpecial: boolean; readonly addSpecial: boolean }): Int32Array {
    const bytes = Buffer.from(text, 'utf8');
    const tokens = new Int32Array(bytes.length + 8);
    const count = this.#tokenizeInto(bytes, tokens, options);
    if (count >= 0) return tokens.slice(0, count);
    const larger = new Int32Array(-count);
    const exact = this.#tokenizeInto(bytes, larger, options);
    assert(exact >= 0, 'a token buffer of the size the library asked for is enough');
    return larger.slice(0, exact);
  }

  /** Bytes of a token in text; empty for a control token. The array is shared: callers must not change it. */
  tokenBytes(token: number): Uint8Array {
    this.checkToken(token);
    const known = this.#pieces[token];
    if (known !== undefined) return known;
    const piece = this.pieceOf(token, false);
    this.#pieces[token] = piece;
    return piece;
  }

  /** Bytes of a token; with `special`, control tokens in the form the template writes them. */
  pieceOf(token: number, special: boolean): Uint8Array {
    this.checkToken(token);
    const { api, vocabulary } = this.#model;
    const guess = new Uint8Array(pieceBytesGuess);
    const length = api.tokenToPiece(vocabulary, token, guess, guess.length, 0, special);
    if (length >= 0) return guess.slice(0, length);
    const larger = new Uint8Array(-length);
    const exact = api.tokenToPiece(vocabulary, token, larger, larger.length, 0, special);
    assert(exact === larger.length, 'a piece has the length the library stated', { token });
    return larger;
  }

  checkToken(token: number): void {
    const known = Number.isInteger(token) && token >= 0 && token < this.#model.vocabularySize;
    assert(known, 'a token id is in the vocabulary', { token, vocabularySize: this.#model.vocabularySize });
  }

  #tokenizeInto(bytes: Buffer, tokens: Int32Array, options: { readonly parseSpecial: boolean; readonly addSpecial: boolean }): number {
    const { api, vocabulary } = this.#model;
    const text = bytes.length > 0 ? bytes : emptyText;
    return api.tokenize(vocabulary, text, bytes.length, tokens, tokens.length, options.addSpecial, options.parseSpecial);
  }
}
