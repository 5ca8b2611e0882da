const asFloat = new Float32Array(1);
const asBits = new Int32Array(asFloat.buffer);

/** Bits of the nearest half-precision number (IEEE 754 binary16), ties to even; too large becomes infinity. */
export function toHalf(value: number): number {
  asFloat[0] = value;
  const bits = asBits[0] as number;
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude >= 0x7f80_0000) return sign | (magnitude > 0x7f80_0000 ? 0x7e00 : 0x7c00);
  if (magnitude >= 0x477f_f000) return sign | 0x7c00;
  if (magnitude < 0x3880_0000) return sign | roundHalfEven(Math.abs(value) * 2 ** 24);
  return sign | ((magnitude - 0x3800_0000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

const roundHalfEven = (value: number): number => {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
};
