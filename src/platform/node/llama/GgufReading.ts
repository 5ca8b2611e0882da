import { GgufFault } from './GgufFault.js';
import { ggufTypes } from './ggufTypes.js';
import type { GgufContents, GgufList } from './readGguf.js';

/** Typed reading of metadata entries. An entry of another type than asked for throws GgufFault: native code ends the process over some. */
export class GgufReading {
  readonly #contents: GgufContents;
  readonly #architecture: string;

  constructor(contents: GgufContents) {
    this.#contents = contents;
    this.#architecture = this.text('general.architecture') ?? '';
  }

  get architecture(): string {
    return this.#architecture;
  }

  /** The name of an entry of the model's architecture. */
  own(suffix: string): string {
    return `${this.#architecture}.${suffix}`;
  }

  has(key: string): boolean {
    return this.#contents.types.has(key);
  }

  text(key: string): string | undefined {
    return this.#value(key, [ggufTypes.text]) as string | undefined;
  }

  u16(key: string): number | undefined {
    return this.#value(key, [ggufTypes.u16]) as number | undefined;
  }

  u32(key: string): number | undefined {
    return this.#value(key, [ggufTypes.u32]) as number | undefined;
  }

  bool(key: string): boolean | undefined {
    return this.#value(key, [ggufTypes.bool]) as boolean | undefined;
  }

  /** Finite. */
  f32(key: string): number | undefined {
    const value = this.#value(key, [ggufTypes.f32]) as number | undefined;
    if (value !== undefined && !Number.isFinite(value)) throw new GgufFault(`the metadata entry ${key} is ${value}`);
    return value;
  }

  list(key: string, itemTypes: readonly number[]): GgufList | undefined {
    if (this.#typeOf(key, [ggufTypes.list]) === undefined) return undefined;
    const list = this.#contents.lists.get(key) as GgufList;
    if (itemTypes.includes(list.itemType)) return list;
    throw new GgufFault(`the list ${key} has items of the wrong type ${list.itemType}`);
  }

  /** A number for all layers, or one for each. */
  byLayer(key: string): readonly number[] | undefined {
    const type = this.#typeOf(key, [ggufTypes.u32, ggufTypes.list]);
    if (type === undefined) return undefined;
    if (type === ggufTypes.u32) return [this.u32(key) as number];
    return this.list(key, [ggufTypes.u32, ggufTypes.i32])?.numbers ?? [];
  }

  #value(key: string, types: readonly number[]): number | string | boolean | undefined {
    this.#typeOf(key, types);
    return this.#contents.metadata.get(key);
  }

  #typeOf(key: string, types: readonly number[]): number | undefined {
    const type = this.#contents.types.get(key);
    if (type === undefined || types.includes(type)) return type;
    throw new GgufFault(`the metadata entry ${key} has the wrong type ${type}`);
  }
}
