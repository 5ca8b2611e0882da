import { platformError } from '../../index.js';
import { checkModelFile } from './checkModelFile.js';
import { type LlamaApi, openLlamaApi, type Pointer } from './LlamaApi.js';
import type { GgufFacts } from './readGguf.js';

/** A model file as EngineConfig names it. */
export interface ModelFile {
  readonly path: string;
  /** Expected SHA-256; a file with another one is refused. */
  readonly digest: string;
}

/** Loaded weights and their vocabulary. Owned by one backend, which frees them after its contexts. */
export interface LlamaModel {
  readonly api: LlamaApi;
  readonly model: Pointer;
  readonly vocabulary: Pointer;
  readonly vocabularySize: number;
  /** What its file says. */
  readonly metadata: GgufFacts['metadata'];
}

/** Checks a file and loads its weights onto the CPU, or its vocabulary alone. Errors: MODEL_INVALID, ENGINE_UNAVAILABLE. */
export function loadLlamaModel(file: ModelFile, options: { readonly vocabularyOnly: boolean } = { vocabularyOnly: false }): LlamaModel {
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${file.path}: ${reason}`, { cause });
  const { digest, facts } = checkModelFile(file.path, refuse);
  if (digest !== file.digest) throw refuse(`its SHA-256 is ${digest}, expected ${file.digest}`);
  const api = openLlamaApi();
  const model = api.loadModel(file.path, { ...api.modelDefaults(), n_gpu_layers: 0, vocab_only: options.vocabularyOnly });
  if (model === null) throw refuse('llama.cpp cannot load it');
  const vocabulary = api.vocabulary(model);
  return { api, model, vocabulary, vocabularySize: api.vocabularySize(vocabulary), metadata: facts.metadata };
}
