import { access, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { describeBytes } from '../../base/index.js';
import { platformError } from '../../platform/index.js';
import { checkModelFile, type QuantizationType, quantizationTypes } from '../../platform/node/index.js';
import { cliError } from '../errors.js';
import { ProgressBar } from '../ProgressBar.js';
import { quantizeInChild } from '../quantize/quantizeInChild.js';
import { syncFile } from '../syncFile.js';

interface QuantizeFlags {
  readonly type: string;
  readonly out: string;
  readonly force: boolean;
  readonly json: boolean;
}

// What stands beside the weights: names, vocabulary.
const headerBytes = 16e6;

/** `ostraka model quantize FILE --type TYPE --out FILE`: other weights, made under another name and checked before they get theirs. */
export async function modelQuantizeCommand(file: string, flags: QuantizeFlags): Promise<void> {
  const from = resolve(file);
  const to = resolve(flags.out);
  const type = quantizationTypes[flags.type.toLowerCase()];
  if (type === undefined) throw cliError('USAGE', `--type ${flags.type}: one of ${Object.keys(quantizationTypes).join(', ')}`);
  await checkTarget({ from, to, isForced: flags.force });
  const { bytes } = await describe(from, type);
  const temporary = `${to}.making-${process.pid}`;
  const bar = new ProgressBar({ label: `quantising ${basename(from)}` });
  try {
    await quantizeInChild({ from, to: temporary, fileType: type.fileType, bytes, onProgress: (done) => bar.update(done, bytes) });
    const made = checkModelFile(temporary, refuser(temporary));
    await syncFile(temporary);
    await rename(temporary, to);
    bar.update(bytes, bytes);
    const { digest, description } = made;
    const result = { file: to, digest, bytes: description.fileBytes, quantisation: description.quantisation };
    process.stdout.write(
      flags.json ? `${JSON.stringify(result)}\n` : `${to}: ${result.quantisation}, ${describeBytes(result.bytes)}, SHA-256 ${digest}\n`,
    );
  } finally {
    bar.end();
    await rm(temporary, { force: true });
  }
}

const refuser = (path: string) => (reason: string, cause?: unknown) =>
  platformError('MODEL_INVALID', `model ${path}: ${reason}`, { cause });

const checkTarget = async ({
  from,
  to,
  isForced,
}: {
  readonly from: string;
  readonly to: string;
  readonly isForced: boolean;
}): Promise<void> => {
  await access(from).catch((error: Error) => {
    throw cliError('USAGE', `cannot read model file ${from}: ${error.message}`, { cause: error });
  });
  const folder = await stat(dirname(to)).catch(() => undefined);
  if (!folder?.isDirectory()) throw cliError('USAGE', `the folder of ${to} is not there`);
  const present = await stat(to).catch(() => undefined);
  if (from === to || present?.isDirectory()) throw cliError('USAGE', `--out ${to}: name another file`);
  if (present !== undefined && !isForced) throw cliError('USAGE', `${to} is there already: choose another name, or --force to replace it`);
};

const describe = async (from: string, { bits }: QuantizationType): Promise<{ readonly bytes: number }> => {
  const { description } = checkModelFile(from, refuser(from));
  if (description.type === 'adapter') throw refuser(from)('it is an adapter, which is not quantised');
  return { bytes: Math.ceil((description.parameters * bits) / 8 + Math.min(headerBytes, description.fileBytes)) };
};
