import { fstatSync } from 'node:fs';
import { GgufCursor } from './GgufCursor.js';
import { GgufFault } from './GgufFault.js';

export interface GgufTensor {
  readonly name: string;
  /** Innermost first, as ggml counts. */
  readonly dimensions: readonly number[];
  /** ggml's number of the type. */
  readonly type: number;
}

/** What stands in the description of a GGUF file. */
export interface GgufFacts {
  /** Entries that are one number, text or truth value, and short lists of numbers; other lists are left out, and so are texts over 1 MiB. */
  readonly metadata: ReadonlyMap<string, number | string | boolean | readonly number[]>;
  readonly tensors: readonly GgufTensor[];
}

const magic = 0x46554747; // "GGUF", little-endian
const valueTypes = { u32: 4, f32: 6, text: 8, array: 9 } as const;
/** Entries that native code reads without a look at their type, and ends the process over another one. */
const typedKeys = new Map<string, number>([
  ['general.type', valueTypes.text],
  ['general.architecture', valueTypes.text],
  ['adapter.type', valueTypes.text],
  ['adapter.lora.alpha', valueTypes.f32],
]);
const scalarBytes: readonly (number | undefined)[] = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];
const scalarReaders: readonly (((bytes: Buffer) => number | boolean) | undefined)[] = [
  (bytes) => bytes.readUInt8(),
  (bytes) => bytes.readInt8(),
  (bytes) => bytes.readUInt16LE(),
  (bytes) => bytes.readInt16LE(),
  (bytes) => bytes.readUInt32LE(),
  (bytes) => bytes.readInt32LE(),
  (bytes) => bytes.readFloatLE(),
  (bytes) => bytes.readUInt8() !== 0,
  undefined,
  undefined,
  (bytes) => Number(bytes.readBigUInt64LE()),
  (bytes) => Number(bytes.readBigInt64LE()),
  (bytes) => bytes.readDoubleLE(),
];
const alignmentDefault = 32;
const listItemsMax = 64;
const dimensionsMax = 4;
const entryBytesMin = 8 + 4 + 1;
const tensorBytesMin = 8 + 4 + 4 + 8;

/** Tensor types of ggml: number → values of a block, bytes of a block. */
const blocks = new Map<number, readonly [values: number, bytes: number]>([
  [0, [1, 4]],
  [1, [1, 2]],
  [2, [32, 18]],
  [3, [32, 20]],
  [6, [32, 22]],
  [7, [32, 24]],
  [8, [32, 34]],
  [9, [32, 36]],
  [10, [256, 84]],
  [11, [256, 110]],
  [12, [256, 144]],
  [13, [256, 176]],
  [14, [256, 210]],
  [15, [256, 292]],
  [16, [256, 66]],
  [17, [256, 74]],
  [18, [256, 98]],
  [19, [256, 50]],
  [20, [32, 18]],
  [21, [256, 110]],
  [22, [256, 82]],
  [23, [256, 136]],
  [24, [1, 1]],
  [25, [1, 2]],
  [26, [1, 4]],
  [27, [1, 8]],
  [28, [1, 8]],
  [29, [256, 56]],
  [30, [1, 2]],
]);

/**
 * Reads the description of a GGUF file (versions 2 and 3) and checks that every tensor lies inside the file: native code maps the file
 * and dies of a page that is not there. Errors: GgufFault.
 */
export function readGguf(file: number): GgufFacts {
  const { size } = fstatSync(file);
  if (size < 24) throw new GgufFault('the file is too short for a GGUF header');
  const cursor = new GgufCursor(file, size);
  if (cursor.u32() !== magic) throw new GgufFault('the file is not a GGUF file');
  const version = cursor.u32();
  if (version !== 2 && version !== 3) throw new GgufFault(`GGUF version ${version} is not supported (2 and 3 are)`);
  const tensors = cursor.u64();
  const entries = cursor.u64();
  if (tensors * tensorBytesMin + entries * entryBytesMin > size) throw new GgufFault('the file is shorter than its header says');
  const metadata = readEntries(cursor, entries);
  const found = readTensors(cursor, tensors);
  checkExtents(found, { dataAt: aligned(cursor.position, alignmentOf(metadata)), size });
  return { metadata, tensors: found };
}

const readEntries = (cursor: GgufCursor, entries: number): GgufFacts['metadata'] => {
  const metadata = new Map<string, number | string | boolean | readonly number[]>();
  for (let i = 0; i < entries; i++) {
    const key = cursor.text();
    const valueType = cursor.u32();
    checkType(key, valueType);
    const value = valueType === valueTypes.array ? readArray(cursor) : readValue(cursor, valueType);
    if (value !== undefined) metadata.set(key, value);
  }
  return metadata;
};

const alignmentOf = (metadata: GgufFacts['metadata']): number => {
  const alignment = metadata.get('general.alignment');
  if (typeof alignment !== 'number') return alignmentDefault;
  if (alignment === 0 || alignment % 8 !== 0) throw new GgufFault(`the alignment ${alignment} is no multiple of 8`);
  return alignment;
};

const checkType = (key: string, valueType: number): void => {
  const expected = typedKeys.get(key);
  if (expected === undefined || expected === valueType) return;
  if (valueType >= scalarBytes.length) bytesOfScalar(valueType); // unknown altogether: that is the reason then
  throw new GgufFault(`the metadata entry ${key} has the wrong type ${valueType}`);
};

const readValue = (cursor: GgufCursor, valueType: number): number | string | boolean => {
  if (valueType === valueTypes.text) return cursor.text();
  const bytes = cursor.bytes(bytesOfScalar(valueType));
  const reader = scalarReaders[valueType] as (bytes: Buffer) => number | boolean;
  return reader(bytes);
};

const readArray = (cursor: GgufCursor): readonly number[] | undefined => {
  const itemType = cursor.u32();
  const count = cursor.u64();
  if (itemType === valueTypes.text) {
    // Ends at the end of the file at the latest: every text takes eight bytes.
    for (let i = 0; i < count; i++) cursor.skip(cursor.u64());
    return undefined;
  }
  const bytes = bytesOfScalar(itemType);
  if (count <= listItemsMax) return Array.from({ length: count }, () => Number(readValue(cursor, itemType)));
  cursor.skip(count * bytes);
  return undefined;
};

const bytesOfScalar = (valueType: number): number => {
  const bytes = scalarBytes[valueType];
  if (bytes === undefined) throw new GgufFault(`a metadata entry has the unknown type ${valueType}`);
  return bytes;
};

interface Tensor extends GgufTensor {
  readonly offset: number;
  readonly bytes: number;
}

const readTensors = (cursor: GgufCursor, count: number): readonly Tensor[] => Array.from({ length: count }, () => readTensor(cursor));

const readTensor = (cursor: GgufCursor): Tensor => {
  const name = cursor.text();
  const count = cursor.u32();
  if (count > dimensionsMax) throw new GgufFault(`tensor ${name} has ${count} dimensions (at most ${dimensionsMax})`);
  const dimensions = Array.from({ length: count }, () => cursor.u64());
  const values = dimensions.reduce((product, size) => product * size, 1);
  const type = cursor.u32();
  // A type that this table does not know yet is llama.cpp's to judge: only its start is checked.
  const [blockValues, blockBytes] = blocks.get(type) ?? [1, 0];
  return { name, dimensions, type, offset: cursor.u64(), bytes: Math.ceil(values / blockValues) * blockBytes };
};

const checkExtents = (tensors: readonly Tensor[], { dataAt, size }: { readonly dataAt: number; readonly size: number }): void => {
  for (const { name, offset, bytes } of tensors) {
    const end = dataAt + offset + bytes;
    if (end > size) throw new GgufFault(`the file is truncated: tensor ${name} ends at byte ${end}, the file at ${size}`);
  }
};

const aligned = (position: number, alignment: number): number => Math.ceil(position / alignment) * alignment;
