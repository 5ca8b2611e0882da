import { z } from 'zod';
import { cliError } from '../errors.js';
import { readPlainFile } from '../readPlainFile.js';

const evaluationBytesMax = 1_048_576;

const evaluation = z.looseObject({
  accuracyDelta: z.number().min(-1).max(1),
  baseAccuracy: z.number().min(0).max(1),
  adapterAccuracy: z.number().min(0).max(1),
  performanceDeltaP99Ms: z.number(),
  trainingSamples: z.int().min(0).default(0),
  adapterDigest: z.string(),
});

/** An adapter without an evaluation ranks after measured ones, but above the highest tier, so that declaring it routes to it. */
const declared = {
  accuracyDelta: 1,
  baseAccuracy: 0,
  adapterAccuracy: 1,
  performanceDeltaP99Ms: 0,
  trainingSamples: 0,
  federationRound: 0,
  source: 'declared' as const,
};

/**
 * The figures of an adapter from `FILE.evaluation.json`; `declared` without that file. Errors: CONFIG_INVALID when the file is of
 * another form or judges another adapter.
 */
export async function readFigures(file: string, digest: string) {
  const path = `${file}.evaluation.json`;
  const bytes = await readPlainFile(path, evaluationBytesMax).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (bytes === undefined) return declared;
  const parsed = evaluation.safeParse(parseJson(bytes.toString('utf8')));
  if (!parsed.success)
    throw cliError('CONFIG_INVALID', `${path}: ${parsed.error.issues[0]?.path.join('.')}: ${parsed.error.issues[0]?.message}`);
  if (parsed.data.adapterDigest !== digest)
    throw cliError('CONFIG_INVALID', `${path} judges another adapter than ${file}: evaluate it again`);
  const { accuracyDelta, baseAccuracy, adapterAccuracy, performanceDeltaP99Ms, trainingSamples } = parsed.data;
  return {
    accuracyDelta,
    baseAccuracy,
    adapterAccuracy,
    performanceDeltaP99Ms,
    trainingSamples,
    federationRound: 0,
    source: 'measured' as const,
  };
}

/** What is no JSON is of another form, too. */
const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
