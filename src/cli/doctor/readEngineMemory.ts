import { type EngineMemory, estimateEngineMemory, isHubName, type ModelFigures, pinnedModels } from '../../models/index.js';
import { readModelDescription } from '../../platform/node/index.js';
import { isModelFile } from '../isModelFile.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { parseServed } from '../up/parseServed.js';

/** What `up` would be told of its engines. */
export interface EngineFlags {
  readonly model: string;
  readonly embeddingModel: string;
  readonly serve: readonly string[];
  readonly sequences: number;
  readonly context: number;
  readonly embeddingContext?: number;
}

/** `absent`: a model of which nothing is known before it is on this machine. */
export type EngineNeeds =
  | { readonly kind: 'known'; readonly engines: readonly [EngineMemory, ...EngineMemory[]] }
  | { readonly kind: 'absent'; readonly model: string };

/**
 * What the engines of one shard need, its own first, by the files of their models, or by what is known of pinned ones before they are
 * fetched. Errors: MODEL_UNKNOWN, MODEL_INVALID, USAGE.
 */
export async function readEngineMemory(flags: EngineFlags): Promise<EngineNeeds> {
  const shape = { sequences: flags.sequences, contextTokens: flags.context, textTokens: flags.embeddingContext };
  const asked = [flags.model, flags.embeddingModel, ...flags.serve.map((text) => parseServed(text).model)];
  const found = await Promise.all(asked.map((model, index) => figuresOf(model, ownKinds[index])));
  const absent = found.indexOf(undefined);
  if (absent >= 0) return { kind: 'absent', model: asked[absent] as string };
  const [chat, embedding, ...served] = found as readonly Figures[];
  const others = served.map((model) => estimateEngineMemory({ ...shape, [model.kind]: model }));
  return { kind: 'known', engines: [estimateEngineMemory({ ...shape, chat, embedding }), ...others] };
}

const ownKinds = ['chat', 'embedding'] as const;

type Figures = ModelFigures & { readonly kind: 'chat' | 'embedding' };

/** Undefined where nothing is known of it. */
const figuresOf = async (nameOrFile: string, kind: Figures['kind'] | undefined): Promise<Figures | undefined> => {
  if (isModelFile(nameOrFile)) return ofFile(nameOrFile);
  const registry = openModelRegistry();
  if (isHubName(nameOrFile) && !(await registry.has(nameOrFile))) return undefined;
  const model = await registry.find(nameOrFile, kind);
  if (model.isThere) return ofFile(model.path);
  const pinned = model.origin === 'pinned' ? pinnedModels.find(({ name }) => name === model.name) : undefined;
  return pinned && { ...pinned.figures, fileBytes: pinned.bytes, kind: pinned.kind };
};

const ofFile = (path: string): Figures => {
  const description = readModelDescription(path);
  return { ...description, kind: description.isEncoder ? 'embedding' : 'chat' };
};
