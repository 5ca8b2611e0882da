const units: { readonly [unit: string]: number } = {
  '': 1,
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
  TIB: 2 ** 40,
};

/** `4GiB`, `1.5 GB`, `4294967296`: whole bytes, at least one; undefined where it is none of these. */
export function parseByteCount(text: string): number | undefined {
  const found = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text.trim());
  const factor = units[(found?.[2] ?? '?').toUpperCase()];
  const bytes = Math.round(Number(found?.[1]) * (factor ?? Number.NaN));
  return bytes >= 1 && Number.isSafeInteger(bytes) ? bytes : undefined;
}
