/** Bounds of what a GGUF file may describe, far above any model there is: a damaged count must not cost memory or time. */
export const ggufLimits = {
  entriesMax: 65_536,
  /** Of llama.cpp: names are of 64 bytes with their end. */
  tensorNameBytesMax: 63,
  tensorsMax: 262_144,
  /** Of the format. */
  keyBytesMax: 65_535,
  textBytesMax: 1 << 20,
  listItemsMax: 1 << 24,
  tokenBytesMax: 65_536,
  /** Lists of so many numbers are kept: figures that differ by layer. */
  numbersKeptMax: 1024,
  /** Of llama.cpp. */
  layersMax: 512,
  alignmentMax: 1 << 20,
} as const;
