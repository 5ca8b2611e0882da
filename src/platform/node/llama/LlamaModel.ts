import { platformError } from '../../index.js';
import { checkModelFile } from './checkModelFile.js';
import { type LlamaApi, openLlamaApi, type Pointer, withProgressCallback } from './LlamaApi.js';
import type { GgufContents } from './readGguf.js';

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
  readonly facts: Pick<GgufContents, 'metadata' | 'lists'>;
}

/** Half of a model's progress is reading and checking its file, half is loading it. */
const loadedShare = 0.5;

/** Checks a file and loads its weights, or its vocabulary alone; so many layers onto a GPU. Errors: MODEL_INVALID, ENGINE_UNAVAILABLE. */
export function loadLlamaModel(
  file: ModelFile,
  options: { readonly vocabularyOnly?: boolean; readonly onShare?: (share: number) => void; readonly gpuLayers?: number } = {},
): LlamaModel {
  const { vocabularyOnly = false, gpuLayers = 0, onShare = () => undefined } = options;
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${file.path}: ${reason}`, { cause });
  const { digest, facts } = checkModelFile(file.path, refuse, { onShare: (share) => onShare(share * loadedShare) });
  if (digest !== file.digest) throw refuse(`its SHA-256 is ${digest}, expected ${file.digest}`);
  const api = openLlamaApi({ usesGpu: gpuLayers > 0 });
  const parameters = { ...api.modelDefaults(), n_gpu_layers: gpuLayers, vocab_only: vocabularyOnly };
  const onLoaded = (share: number): void => onShare(loadedShare + share * (1 - loadedShare));
  const model = withProgressCallback(onLoaded, (address) => api.loadModel(file.path, { ...parameters, progress_callback: address }));
  if (model === null) throw refuse('llama.cpp cannot load it');
  const vocabulary = api.vocabulary(model);
  return { api, model, vocabulary, vocabularySize: api.vocabularySize(vocabulary), facts };
}
