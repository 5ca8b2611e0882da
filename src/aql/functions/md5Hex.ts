import { utf8 } from '../../base/index.js';

const shifts = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21];
const constants = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0);

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

const padded = (bytes: Uint8Array): DataView => {
  const view = new DataView(new ArrayBuffer((((bytes.length + 8) >> 6) + 1) * 64));
  new Uint8Array(view.buffer).set(bytes);
  view.setUint8(bytes.length, 0x80);
  view.setUint32(view.byteLength - 8, bytes.length << 3, true);
  view.setUint32(view.byteLength - 4, bytes.length >>> 29, true);
  return view;
};

const mix = (round: number, b: number, c: number, d: number): number => {
  if (round === 0) return (b & c) | (~b & d);
  if (round === 1) return (d & b) | (~d & c);
  return round === 2 ? b ^ c ^ d : c ^ (b | ~d);
};

const wordIndex = (round: number, i: number): number => [i, 5 * i + 1, 3 * i + 5, 7 * i][round] as number;

type State = [number, number, number, number];

const digestBlock = (view: DataView, start: number, state: State): State => {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    const word = view.getInt32(start + (wordIndex(round, i) & 15) * 4, true);
    const sum = (a + mix(round, b, c, d) + (constants[i] as number) + word) | 0;
    [a, d, c, b] = [d, c, b, (b + rotate(sum, shifts[round * 4 + (i & 3)] as number)) | 0];
  }
  return [(state[0] + a) | 0, (state[1] + b) | 0, (state[2] + c) | 0, (state[3] + d) | 0];
};

/** MD5 of a text's UTF-8, lower-case hex (RFC 1321). A checksum for the MD5() function of AQL, never for security. */
export function md5Hex(text: string): string {
  const view = padded(utf8.encode(text));
  let state: State = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  for (let start = 0; start < view.byteLength; start += 64) state = digestBlock(view, start, state);
  const digest = new DataView(new ArrayBuffer(16));
  for (const [i, word] of state.entries()) digest.setInt32(i * 4, word, true);
  return [...new Uint8Array(digest.buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
