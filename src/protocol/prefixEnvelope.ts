import { concatBytes, utf8, xxh64 } from '../base/index.js';

/** What rows of a prompt they are, and all that must be the same for another engine to take them (SPEC E4). */
export interface PrefixEnvelopeHeader {
  /** 16 hex digits. */
  readonly digest: string;
  readonly facts: { readonly [name: string]: string };
  readonly tokens: Int32Array;
  readonly stateBytes: number;
}

export interface PrefixEnvelopePiece {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

const version = 1;
const magics = { header: 0x4f4b5648, piece: 0x4f4b5650 } as const;
const limits = { facts: 32, factBytes: 4096, tokens: 1 << 20, stateBytes: 2 ** 40 };
const checksumBytes = 8;

/**
 * The binary envelope of rows on their way between shards (R27, E4). A header, then pieces in order; both end with the xxHash64 of all
 * before it. Little-endian. Header: magic u32, version u16, digest u64, state bytes f64, facts u16 (each: name and value, u16 length and
 * UTF-8), tokens u32, ids i32. Piece: magic u32, offset f64, length u32, bytes. What is cut, longer, or changed in any byte is refused.
 */
export const prefixEnvelope = {
  encodeHeader({ digest, facts, tokens, stateBytes }: PrefixEnvelopeHeader): Uint8Array {
    const texts = Object.entries(facts).flatMap((entry) => entry.map(encodeText));
    const head = new DataView(new ArrayBuffer(24));
    head.setUint32(0, magics.header, true);
    head.setUint16(4, version, true);
    head.setBigUint64(6, BigInt(`0x${digest}`), true);
    head.setFloat64(14, stateBytes, true);
    head.setUint16(22, texts.length / 2, true);
    const ids = new DataView(new ArrayBuffer(4 + tokens.length * 4));
    ids.setUint32(0, tokens.length, true);
    for (const [place, token] of tokens.entries()) ids.setInt32(4 + place * 4, token, true);
    return sealed([new Uint8Array(head.buffer), ...texts, new Uint8Array(ids.buffer)]);
  },

  encodePiece({ offset, bytes }: PrefixEnvelopePiece): Uint8Array {
    const head = new DataView(new ArrayBuffer(16));
    head.setUint32(0, magics.piece, true);
    head.setFloat64(4, offset, true);
    head.setUint32(12, bytes.length, true);
    return sealed([new Uint8Array(head.buffer), bytes]);
  },

  /** Undefined for anything that `encodeHeader` does not make. */
  decodeHeader(frame: Uint8Array): PrefixEnvelopeHeader | undefined {
    const reader = open(frame, magics.header);
    if (reader === undefined || reader.u16() !== version) return undefined;
    const digest = reader.u64()?.toString(16).padStart(16, '0');
    const stateBytes = reader.f64();
    const facts = readFacts(reader);
    const tokens = readTokens(reader);
    if (digest === undefined || facts === undefined || tokens === undefined || !reader.isAtEnd || !isCount(stateBytes)) return undefined;
    return { digest, facts, tokens, stateBytes };
  },

  /** Undefined for anything that `encodePiece` does not make. */
  decodePiece(frame: Uint8Array): PrefixEnvelopePiece | undefined {
    const reader = open(frame, magics.piece);
    const offset = reader?.f64();
    const bytes = reader?.bytes(reader.u32());
    if (reader === undefined || bytes === undefined || !reader.isAtEnd || !isCount(offset)) return undefined;
    return { offset, bytes };
  },
};

const isCount = (value: number | undefined): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= limits.stateBytes;

function encodeText(text: string): Uint8Array {
  const bytes = utf8.encode(text);
  return concatBytes([new Uint8Array([bytes.length & 255, bytes.length >> 8]), bytes]);
}

function sealed(parts: readonly Uint8Array[]): Uint8Array {
  const whole = concatBytes([...parts, new Uint8Array(checksumBytes)]);
  const end = whole.length - checksumBytes;
  new DataView(whole.buffer, whole.byteOffset).setBigUint64(end, xxh64(whole.subarray(0, end)), true);
  return whole;
}

/** A reader behind the magic of a frame whose checksum holds. */
function open(frame: Uint8Array, magic: number): Reader | undefined {
  const end = frame.length - checksumBytes;
  if (end < 4) return undefined;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.length);
  if (view.getUint32(0, true) !== magic || view.getBigUint64(end, true) !== xxh64(frame.subarray(0, end))) return undefined;
  return new Reader(frame.subarray(4, end));
}

function readFacts(reader: Reader): { readonly [name: string]: string } | undefined {
  const count = reader.u16();
  if (count === undefined || count > limits.facts) return undefined;
  const entries: [string, string][] = [];
  for (let fact = 0; fact < count; fact++) {
    const [name, value] = [reader.text(), reader.text()];
    if (name === undefined || value === undefined) return undefined;
    entries.push([name, value]);
  }
  const facts = Object.fromEntries(entries);
  return Object.keys(facts).length === count ? facts : undefined;
}

function readTokens(reader: Reader): Int32Array | undefined {
  const count = reader.u32();
  if (count === undefined || count > limits.tokens) return undefined;
  const bytes = reader.bytes(count * 4);
  if (bytes === undefined) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Int32Array.from({ length: count }, (_, place) => view.getInt32(place * 4, true));
}

/** Reads in order; undefined beyond the end, and from then on. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #place = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  get isAtEnd(): boolean {
    return this.#place === this.#bytes.length;
  }

  u16 = (): number | undefined => this.#at(2, (at) => this.#view.getUint16(at, true));
  u32 = (): number | undefined => this.#at(4, (at) => this.#view.getUint32(at, true));
  u64 = (): bigint | undefined => this.#at(8, (at) => this.#view.getBigUint64(at, true));
  f64 = (): number | undefined => this.#at(8, (at) => this.#view.getFloat64(at, true));

  bytes(count: number | undefined): Uint8Array | undefined {
    return count === undefined ? undefined : this.#at(count, (at) => this.#bytes.subarray(at, at + count));
  }

  text(): string | undefined {
    const length = this.u16();
    const bytes = length === undefined || length > limits.factBytes ? undefined : this.bytes(length);
    return bytes === undefined ? undefined : utf8.decode(bytes);
  }

  #at<Value>(count: number, read: (place: number) => Value): Value | undefined {
    const place = this.#place;
    this.#place += count;
    return this.#place > this.#bytes.length ? undefined : read(place);
  }
}
