import { assert, compareBytes } from '../../base/index.js';

/**
 * The bytes of a model's tokens as a tree in preorder, built once a model and shared by all grammars. Control tokens have no bytes and
 * are not in it, nor are the end tokens, which mean the end and no text.
 */
export class TokenVocabulary {
  readonly size: number;
  readonly endTokens: ReadonlySet<number>;
  readonly tokenBytes: (token: number) => Uint8Array;
  /** 256 flags: bytes that are a token of their own. */
  readonly alphabet = new Uint8Array(256);
  /** Of each node of the tree: its byte, its depth (1 = first byte), the node after its subtree, its first token or -1. */
  readonly nodeByte: Uint8Array;
  readonly nodeDepth: Uint16Array;
  readonly nodeSkip: Int32Array;
  readonly nodeToken: Int32Array;
  /** By token: the next token of the same bytes, or -1. */
  readonly sameBytes: Int32Array;
  readonly depthMax: number;

  constructor(given: {
    readonly size: number;
    readonly endTokens: ReadonlySet<number>;
    readonly tokenBytes: (token: number) => Uint8Array;
  }) {
    this.size = given.size;
    this.endTokens = given.endTokens;
    this.tokenBytes = given.tokenBytes;
    const tokens = textTokens(given);
    for (const { bytes } of tokens) if (bytes.length === 1) this.alphabet[bytes[0] as number] = 1;
    const nodes = countNodes(tokens);
    this.nodeByte = new Uint8Array(nodes);
    this.nodeDepth = new Uint16Array(nodes);
    this.nodeSkip = new Int32Array(nodes);
    this.nodeToken = new Int32Array(nodes).fill(-1);
    this.sameBytes = new Int32Array(given.size).fill(-1);
    this.depthMax = tokens.reduce((most, { bytes }) => Math.max(most, bytes.length), 0);
    assert(this.depthMax < 2 ** 16, 'a token is short');
    this.#fill(tokens);
  }

  #fill(tokens: readonly TextToken[]): void {
    const path: number[] = [];
    let count = 0;
    let before: Uint8Array = new Uint8Array(0);
    for (const { token, bytes } of tokens) {
      const shared = sharedLength(before, bytes);
      for (const node of path.splice(shared)) this.nodeSkip[node] = count;
      for (let depth = shared; depth < bytes.length; depth++) {
        this.nodeByte[count] = bytes[depth] as number;
        this.nodeDepth[count] = depth + 1;
        path.push(count++);
      }
      const node = path.at(-1) as number;
      this.sameBytes[token] = this.nodeToken[node] as number;
      this.nodeToken[node] = token;
      before = bytes;
    }
    for (const node of path) this.nodeSkip[node] = count;
  }
}

interface TextToken {
  readonly token: number;
  readonly bytes: Uint8Array;
}

function textTokens({
  size,
  endTokens,
  tokenBytes,
}: {
  size: number;
  endTokens: ReadonlySet<number>;
  tokenBytes: (token: number) => Uint8Array;
}): TextToken[] {
  const tokens: TextToken[] = [];
  for (let token = 0; token < size; token++) {
    const bytes = tokenBytes(token);
    if (bytes.length > 0 && !endTokens.has(token)) tokens.push({ token, bytes });
  }
  return tokens.sort((left, right) => compareBytes(left.bytes, right.bytes));
}

function countNodes(tokens: readonly TextToken[]): number {
  let before: Uint8Array = new Uint8Array(0);
  let nodes = 0;
  for (const { bytes } of tokens) {
    nodes += bytes.length - sharedLength(before, bytes);
    before = bytes;
  }
  return nodes;
}

function sharedLength(left: Uint8Array, right: Uint8Array): number {
  const most = Math.min(left.length, right.length);
  let length = 0;
  while (length < most && left[length] === right[length]) length++;
  return length;
}
