import { stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { sha256Hex } from '../../base/index.js';
import { readSafetensors } from '../../models/index.js';
import { describeModelFile, readBaseFingerprint, writeFileAtomic } from '../../platform/node/index.js';
import { convertPeft, encodeAdapter } from '../../training/index.js';
import { cliError } from '../errors.js';
import { readPlainFile } from '../readPlainFile.js';
import { resolveModel } from '../resolveModel.js';
import { chooseOutFile } from '../training/chooseOutFile.js';

export interface ImportFlags {
  readonly domain: string;
  readonly out?: string;
  readonly model: string;
  readonly json: boolean;
}

const sizes = { adapterBytesMax: 1_073_741_824, configBytesMax: 1_048_576 } as const;
const adapterMode = 0o644;

/** `ostraka adapter import`: a PEFT adapter (safetensors and adapter_config.json) as a GGUF file for the base model (R21). */
export async function adapterImportCommand(source: string, flags: ImportFlags): Promise<void> {
  const outFile = await chooseOutFile(flags);
  const files = await locate(source);
  const { signal } = new AbortController();
  const model = await resolveModel({ nameOrFile: flags.model, kind: 'chat', signal });
  const { shape } = describeModelFile(model.path);
  const config = parseConfig(await readBounded(files.config, sizes.configBytesMax), files.config);
  const file = readSafetensors(await readBounded(files.tensors, sizes.adapterBytesMax));
  const adapter = convertPeft({ config, file, shape });
  const base = { baseDigest: model.digest, baseFingerprint: readBaseFingerprint(model.path) };
  const bytes = encodeAdapter({ domain: flags.domain, ...base, ...adapter });
  await writeFileAtomic(outFile, bytes, { mode: adapterMode });
  const result = { domain: flags.domain, file: outFile, digest: sha256Hex(bytes), rank: adapter.rank, tensors: adapter.tensors.length };
  process.stdout.write(
    flags.json
      ? `${JSON.stringify(result)}\n`
      : `${outFile}: adapter ${result.digest.slice(0, 12)} of domain ${result.domain}, rank ${result.rank}, ${result.tensors} tensors\n`,
  );
}

/** The two files of a PEFT folder, which is named itself or by its safetensors file. */
const locate = async (source: string): Promise<{ readonly config: string; readonly tensors: string }> => {
  const path = resolve(source);
  const facts = await stat(path).catch((error: Error) => {
    throw cliError('USAGE', `cannot read ${source}: ${error.message}`, { cause: error });
  });
  const folder = facts.isDirectory() ? path : dirname(path);
  return { config: join(folder, 'adapter_config.json'), tensors: facts.isDirectory() ? join(folder, 'adapter_model.safetensors') : path };
};

const readBounded = (path: string, bytesMax: number): Promise<Uint8Array> =>
  readPlainFile(path, bytesMax).catch((error: Error) => {
    throw cliError('USAGE', `cannot read ${path}: ${error.message}`, { cause: error });
  });

const parseConfig = (bytes: Uint8Array, path: string): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    throw cliError('USAGE', `${path} is not JSON`, { cause: error });
  }
};
