import { readFile, stat } from 'node:fs/promises';
import { sha256Hex, utf8 } from '../../base/index.js';
import { type Example, parseExamples, type TrainerOptions } from '../../training/index.js';
import { cliError } from '../errors.js';

/** The examples of a file and the digest of its bytes. Errors: USAGE (cannot be read, too large), TRAINING_DATA_INVALID. */
export async function readTrainingData(
  path: string,
  options: Pick<TrainerOptions, 'examplesMax' | 'dataBytesMax'>,
): Promise<{ readonly examples: readonly Example[]; readonly digest: string }> {
  const refuse = (error: Error) => {
    throw cliError('USAGE', `cannot read ${path}: ${error.message}`, { cause: error });
  };
  const facts = await stat(path).catch(refuse);
  if (facts.size > options.dataBytesMax) throw cliError('USAGE', `${path} has ${facts.size} bytes, the limit is ${options.dataBytesMax}`);
  const bytes = await readFile(path).catch(refuse);
  return { examples: parseExamples(utf8.decode(bytes), { name: path, examplesMax: options.examplesMax }), digest: sha256Hex(bytes) };
}
