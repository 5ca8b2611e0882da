/** FNV-1a over 32-bit words, for states that grow by one token: `next = hashToken(previous, token)`. */
export function hashToken(hash: number, token: number): number {
  let mixed = (hash ^ token) >>> 0;
  mixed = Math.imul(mixed, 0x01000193) >>> 0;
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x2c1b3c6d) >>> 0;
  return (mixed ^ (mixed >>> 13)) >>> 0;
}
