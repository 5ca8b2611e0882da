import { fstatSync } from 'node:fs';
import { GgufCursor } from './GgufCursor.js';
import { GgufFault } from './GgufFault.js';
import { type GgmlType, ggmlTypes } from './ggmlTypes.js';
import { ggufLimits } from './ggufLimits.js';
import { ggufTypes } from './ggufTypes.js';

export interface GgufTensor {
  readonly name: string;
  /** Innermost first, as ggml counts. */
  readonly dimensions: readonly number[];
  /** ggml's number of the type. */
  readonly type: number;
}

/** What stands in the description of a GGUF file. */
export interface GgufFacts {
  /** Entries that are one number, text or truth value; lists are left out. Numbers of 64 bits are rounded beyond 2^53. */
  readonly metadata: ReadonlyMap<string, number | string | boolean>;
  readonly tensors: readonly GgufTensor[];
}

export interface GgufList {
  /** Type number of the items. */
  readonly itemType: number;
  readonly count: number;
  /** The items of a short list of numbers, and the kinds of all tokens. */
  readonly numbers?: readonly number[];
  /** Of the vocabulary: tokens that are written `<0xNN>`, and the byte. */
  readonly byteForms?: ReadonlyMap<number, number>;
}

export interface SizedTensor extends GgufTensor {
  readonly values: number;
  readonly bytes: number;
  /** Its first byte in the file. */
  readonly at: number;
}

/** The same with what its checks need. */
export interface GgufContents extends GgufFacts {
  readonly lists: ReadonlyMap<string, GgufList>;
  /** Type number of each entry. */
  readonly types: ReadonlyMap<string, number>;
  readonly tensors: readonly SizedTensor[];
  readonly fileBytes: number;
}

const magic = 0x46554747; // "GGUF", little-endian
const bigEndianVersions: ReadonlySet<number> = new Set([0x02000000, 0x03000000]);
/** Entries whose type says how much of the file they take: with another one, all that follows would be read wrong. */
const typedKeys = new Map<string, number>([
  ['general.type', ggufTypes.text],
  ['general.architecture', ggufTypes.text],
  ['general.alignment', ggufTypes.u32],
  ['adapter.type', ggufTypes.text],
  ['adapter.lora.alpha', ggufTypes.f32],
]);
const tokensKey = 'tokenizer.ggml.tokens';
const tokenKindsKey = 'tokenizer.ggml.token_type';
const alignmentDefault = 32;
// Some writers fill the last page.
const bytesBehindMax = 4096;
const dimensionsMax = 4;
const entryBytesMin = 8 + 4 + 1;
const tensorBytesMin = 8 + 4 + 8 + 4 + 8;

/**
 * Reads the description of a GGUF file (versions 2 and 3) and checks its form, and that its tensors lie inside the file one behind the
 * other: native code maps the file and dies of a page that is not there. What the description means is checkGguf's. Errors: GgufFault.
 */
export function readGguf(file: number): GgufContents {
  const { size } = fstatSync(file);
  if (size < 24) throw new GgufFault('the file is too short for a GGUF header');
  const cursor = new GgufCursor(file, size);
  if (cursor.u32() !== magic) throw new GgufFault('the file is not a GGUF file');
  checkVersion(cursor.u32());
  const tensorCount = cursor.size('the number of tensors');
  const entryCount = cursor.size('the number of metadata entries');
  if (tensorCount * tensorBytesMin + entryCount * entryBytesMin > size) throw new GgufFault('the file is shorter than its header says');
  checkMax('metadata entries', entryCount, ggufLimits.entriesMax);
  checkMax('tensors', tensorCount, ggufLimits.tensorsMax);
  const entries = readEntries(cursor, entryCount);
  const tensors = readTensors(cursor, { count: tensorCount, alignment: alignmentOf(entries), fileBytes: size });
  return { ...entries, tensors, fileBytes: size };
}

const checkVersion = (version: number): void => {
  if (bigEndianVersions.has(version)) throw new GgufFault('the file was written for a big-endian machine');
  if (version !== 2 && version !== 3) throw new GgufFault(`GGUF version ${version} is not supported (2 and 3 are)`);
};

const checkMax = (what: string, count: number, max: number): void => {
  if (count > max) throw new GgufFault(`the file has ${count} ${what} (at most ${max})`);
};

interface Entries {
  readonly metadata: Map<string, number | string | boolean>;
  readonly lists: Map<string, GgufList>;
  readonly types: Map<string, number>;
}

const readEntries = (cursor: GgufCursor, count: number): Entries => {
  const entries: Entries = { metadata: new Map(), lists: new Map(), types: new Map() };
  for (let i = 0; i < count; i++) {
    const key = cursor.text('the name of a metadata entry', ggufLimits.keyBytesMax);
    if (!/^[\x21-\x7e]+$/.test(key)) throw new GgufFault(`a metadata entry has the name ${JSON.stringify(key.slice(0, 64))}`);
    if (entries.types.has(key)) throw new GgufFault(`the metadata entry ${key} is there twice`);
    const type = cursor.u32();
    checkType(key, type);
    entries.types.set(key, type);
    if (type === ggufTypes.list) entries.lists.set(key, readList(cursor, key));
    else entries.metadata.set(key, readValue(cursor, key, type));
  }
  return entries;
};

const checkType = (key: string, type: number): void => {
  if (type !== ggufTypes.text && type !== ggufTypes.list) bytesOf(type); // unknown altogether: that is the reason then
  const expected = typedKeys.get(key);
  if (expected !== undefined && expected !== type) throw new GgufFault(`the metadata entry ${key} has the wrong type ${type}`);
};

const readValue = (cursor: GgufCursor, key: string, type: number): number | string | boolean => {
  if (type === ggufTypes.text) return cursor.text(`the metadata entry ${key}`, ggufLimits.textBytesMax);
  if (type !== ggufTypes.bool) return readNumber(cursor, type);
  const [value] = cursor.take(1);
  if (value !== 0 && value !== 1) throw new GgufFault(`the truth value of ${key} is ${value}`);
  return value === 1;
};

const readList = (cursor: GgufCursor, key: string): GgufList => {
  const itemType = cursor.u32();
  const count = cursor.size(`the number of items of ${key}`);
  if (itemType === ggufTypes.list) throw new GgufFault(`the list ${key} holds lists`);
  const bytes = bytesOf(itemType);
  if (bytes !== undefined && count > ggufLimits.listItemsMax) cursor.skip(count * bytes); // a cut file is told as one
  checkMax(`items in ${key}`, count, ggufLimits.listItemsMax);
  if (bytes === undefined) return { itemType, count, byteForms: readTexts(cursor, key, count) };
  const isKept = count <= ggufLimits.numbersKeptMax || key === tokenKindsKey;
  if (isKept && itemType !== ggufTypes.bool)
    return { itemType, count, numbers: Array.from({ length: count }, () => readNumber(cursor, itemType)) };
  cursor.skip(count * bytes);
  return { itemType, count };
};

const byteForm = /^<0x([0-9A-F]{2})>$/;

/** Ends at the end of the file at the latest: every text takes eight bytes. */
const readTexts = (cursor: GgufCursor, key: string, count: number): ReadonlyMap<number, number> => {
  const byteForms = new Map<number, number>();
  if (key === tokensKey) readTokens(cursor, count, byteForms);
  else for (let i = 0; i < count; i++) cursor.skip(cursor.size(`the length of a text in ${key}`));
  return byteForms;
};

/** Two tokens of one text end the process in native code; empty ones get names there. */
const readTokens = (cursor: GgufCursor, count: number, byteForms: Map<number, number>): void => {
  const seen = new Set<string>();
  for (let i = 0; i < count; i++) {
    const length = cursor.size(`the length of token ${i}`);
    if (length > ggufLimits.tokenBytesMax) throw new GgufFault(`token ${i} has ${length} bytes (at most ${ggufLimits.tokenBytesMax})`);
    const token = cursor.take(length).toString('latin1');
    if (seen.has(token) && token !== '') throw new GgufFault(`token ${i} is in the vocabulary twice`);
    seen.add(token);
    const found = byteForm.exec(token);
    if (found !== null) byteForms.set(i, Number.parseInt(found[1] as string, 16));
  }
};

/** Undefined for a text. */
const bytesOf = (type: number): number | undefined => {
  if (type === ggufTypes.text) return undefined;
  const bytes = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8][type];
  if (bytes === undefined) throw new GgufFault(`a metadata entry has the unknown type ${type}`);
  return bytes;
};

const readNumber = (cursor: GgufCursor, type: number): number => {
  const bytes = cursor.take(bytesOf(type) as number);
  switch (type) {
    case ggufTypes.u8:
      return bytes.readUInt8();
    case ggufTypes.i8:
      return bytes.readInt8();
    case ggufTypes.u16:
      return bytes.readUInt16LE();
    case ggufTypes.i16:
      return bytes.readInt16LE();
    case ggufTypes.u32:
      return bytes.readUInt32LE();
    case ggufTypes.i32:
      return bytes.readInt32LE();
    case ggufTypes.f32:
      return bytes.readFloatLE();
    case ggufTypes.u64:
      return Number(bytes.readBigUInt64LE());
    case ggufTypes.i64:
      return Number(bytes.readBigInt64LE());
    default:
      return bytes.readDoubleLE();
  }
};

const alignmentOf = ({ metadata }: Entries): number => {
  const alignment = (metadata.get('general.alignment') ?? alignmentDefault) as number;
  const fits = alignment >= 8 && alignment <= ggufLimits.alignmentMax && (alignment & (alignment - 1)) === 0;
  if (!fits) throw new GgufFault(`the alignment ${alignment} is no power of two from 8 to ${ggufLimits.alignmentMax}`);
  return alignment;
};

interface PlacedTensor extends Omit<SizedTensor, 'at'> {
  readonly offset: number;
}

const readTensors = (
  cursor: GgufCursor,
  given: { readonly count: number; readonly alignment: number; readonly fileBytes: number },
): readonly SizedTensor[] => {
  const tensors = new Map<string, PlacedTensor>();
  for (let i = 0; i < given.count; i++) {
    const tensor = readTensor(cursor);
    if (tensors.has(tensor.name)) throw new GgufFault(`tensor ${tensor.name} is there twice`);
    tensors.set(tensor.name, tensor);
  }
  const placed = [...tensors.values()];
  const dataAt = aligned(cursor.position, given.alignment);
  checkExtents(placed, { ...given, dataAt });
  return placed.map((tensor) => ({ ...tensor, at: dataAt + tensor.offset }));
};

const readTensor = (cursor: GgufCursor): PlacedTensor => {
  const name = cursor.text('the name of a tensor', ggufLimits.tensorNameBytesMax);
  if (!/^[\x21-\x7e]+$/.test(name)) throw new GgufFault(`a tensor has the name ${JSON.stringify(name)}`);
  const count = cursor.u32();
  if (count < 1 || count > dimensionsMax) throw new GgufFault(`tensor ${name} has ${count} dimensions (1 to ${dimensionsMax})`);
  const dimensions = Array.from({ length: count }, () => cursor.size(`a dimension of tensor ${name}`));
  const type = cursor.u32();
  const known = ggmlTypes.get(type);
  if (known === undefined) throw new GgufFault(`tensor ${name} has the unknown type ${type}`);
  return { name, dimensions, type, ...sizeOf(name, dimensions, known), offset: cursor.size(`the offset of tensor ${name}`) };
};

const sizeOf = (name: string, dimensions: readonly number[], type: GgmlType): { readonly values: number; readonly bytes: number } => {
  const values = dimensions.reduce((product, length) => product * length, 1);
  if (values === 0) throw new GgufFault(`tensor ${name} has a dimension of 0`);
  const bytes = (values / type.valuesPerBlock) * type.bytesPerBlock;
  if (values > 2 ** 51 || bytes > 2 ** 51)
    throw new GgufFault(`tensor ${name} of ${dimensions.join(' × ')} values is larger than any file`);
  if ((dimensions[0] as number) % type.valuesPerBlock !== 0)
    throw new GgufFault(`tensor ${name} has rows of ${dimensions[0]} values, which are no whole blocks of ${type.name}`);
  return { values, bytes };
};

/** The library reads them one behind the other, each at the alignment. */
const checkExtents = (
  tensors: readonly PlacedTensor[],
  { dataAt, alignment, fileBytes }: { readonly dataAt: number; readonly alignment: number; readonly fileBytes: number },
): void => {
  let next = 0;
  for (const { name, offset, bytes } of tensors) {
    const end = dataAt + offset + bytes;
    if (end > fileBytes) throw new GgufFault(`the file is truncated: tensor ${name} ends at byte ${end}, the file at ${fileBytes}`);
    if (offset !== next) throw new GgufFault(`tensor ${name} begins at ${offset} of the data, where ${next} is expected`);
    next = aligned(offset + bytes, alignment);
  }
  const behind = fileBytes - dataAt - next;
  if (behind > bytesBehindMax) throw new GgufFault(`the file has ${behind} bytes behind its last tensor`);
};

const aligned = (position: number, alignment: number): number => Math.ceil(position / alignment) * alignment;
