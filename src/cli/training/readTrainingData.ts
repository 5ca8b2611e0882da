import { sha256Hex, utf8 } from '../../base/index.js';
import { type Example, parseExamples, type TrainerOptions } from '../../training/index.js';
import { cliError } from '../errors.js';
import { readPlainFile } from '../readPlainFile.js';

/** The examples of a file and the digest of its bytes. Errors: USAGE (cannot be read, too large), TRAINING_DATA_INVALID. */
export async function readTrainingData(
  path: string,
  options: Pick<TrainerOptions, 'examplesMax' | 'dataBytesMax'>,
): Promise<{ readonly examples: readonly Example[]; readonly digest: string }> {
  const refuse = (error: Error) => {
    throw cliError('USAGE', `cannot read ${path}: ${error.message}`, { cause: error });
  };
  const bytes = await readPlainFile(path, options.dataBytesMax).catch(refuse);
  return { examples: parseExamples(utf8.decode(bytes), { name: path, examplesMax: options.examplesMax }), digest: sha256Hex(bytes) };
}
