import { resolve } from 'node:path';
import { describeBytes } from '../../base/index.js';
import { type EngineMemory, estimateEngineMemory, type KnownModel, textTokensOf } from '../../models/index.js';
import { type ModelDescription, platformError } from '../../platform/index.js';
import { checkModelFile } from '../../platform/node/index.js';
import { isModelFile } from '../isModelFile.js';
import { openModelRegistry } from '../openModelRegistry.js';
import { printTable } from '../printTable.js';

interface ShowFlags {
  readonly sequences: number;
  readonly context: number;
  readonly embeddingContext?: number;
  readonly json: boolean;
}

/** `ostraka model show NAME|FILE`: what the file says of itself, its digest, and what an engine with it would need. */
export async function modelShowCommand(nameOrFile: string, flags: ShowFlags): Promise<void> {
  const known = isModelFile(nameOrFile) ? undefined : await locate(nameOrFile);
  const path = known?.path ?? resolve(nameOrFile);
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', `model ${nameOrFile}: ${reason}`, { cause });
  const { digest, description } = checkModelFile(path, refuse);
  if (known !== undefined && known.digest !== digest)
    throw refuse(`its SHA-256 is ${digest}, expected ${known.digest}; \`ostraka model verify ${known.name}\` says what to do`);
  const memory = memoryOf(description, flags);
  const commit = known?.commit ?? null;
  const shown = { name: known?.name ?? null, path, digest, commit, ...description, memory };
  if (flags.json) process.stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
  else printTable(rowsOf(shown, flags));
}

const locate = async (name: string): Promise<KnownModel> => {
  const model = await openModelRegistry().find(name);
  if (model.isThere) return model;
  const advice = model.origin === 'imported' ? 'import it again' : `\`ostraka model pull ${model.name}\` fetches it`;
  throw platformError('MODEL_INVALID', `the file of ${model.name} is not on this machine: ${advice}`);
};

/** Of an engine that serves this model alone; adapters come beside one. */
const memoryOf = (description: ModelDescription, { sequences, context, embeddingContext }: ShowFlags): EngineMemory | null => {
  if (description.type === 'adapter') return null;
  const model = description.isEncoder ? { embedding: description } : { chat: description };
  return estimateEngineMemory({ ...model, sequences, contextTokens: context, textTokens: embeddingContext });
};

const rowsOf = (
  shown: ModelDescription & {
    readonly name: string | null;
    readonly path: string;
    readonly digest: string;
    readonly commit: string | null;
    readonly memory: EngineMemory | null;
  },
  flags: ShowFlags,
): readonly (readonly string[])[] => {
  const rows: [string, string][] = [
    ['name', shown.name ?? '(a file)'],
    ['path', shown.path],
    ['SHA-256', shown.digest],
    ...(shown.commit === null ? [] : [['commit', shown.commit] as [string, string]]),
    ['architecture', shown.type === 'adapter' ? `${shown.architecture} (LoRA adapter)` : shown.architecture],
    ['made as', shown.label ?? ''],
    ['parameters', `${(shown.parameters / 1e6).toFixed(1)} M`],
    ['quantisation', shown.quantisation],
    ['size', describeBytes(shown.fileBytes)],
  ];
  if (shown.type !== 'adapter') rows.push(...modelRows(shown));
  if (shown.memory !== null) rows.push([memoryTitle(shown, flags), memoryText(shown.memory)]);
  return rows;
};

const modelRows = (shown: ModelDescription): [string, string][] => [
  ['context', `${shown.contextTokensMax} tokens`],
  ['layers', String(shown.layers)],
  ['heads', `${shown.heads}, of keys ${shown.headsOfKeys}`],
  ['vocabulary', `${shown.vocabulary} tokens`],
  ['chat template', shown.hasChatTemplate ? 'yes' : 'no'],
];

const memoryTitle = (description: ModelDescription, { sequences, context, embeddingContext }: ShowFlags): string =>
  description.isEncoder
    ? `memory, texts of ≤ ${textTokensOf(description, embeddingContext)} tokens`
    : `memory at ${sequences} × ${context} tokens`;

const memoryText = ({ totalBytes, weightsBytes, cellsBytes, computeBytes, logitsBytes }: EngineMemory): string =>
  `${describeBytes(totalBytes)}: weights ${describeBytes(weightsBytes)}, keys and values ${describeBytes(cellsBytes)}, ` +
  `passes ${describeBytes(computeBytes + logitsBytes)}, the process itself`;
