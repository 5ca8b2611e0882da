// node tools/judgeAdapters.mjs FOLDER DOMAIN…: prints what the adapters in FOLDER were measured to do, from what `ostraka adapter evaluate
// --write` has stored beside them, and exits with 1 where one does not do what the sample is for (R21): to answer by itself what the base
// model cannot know.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const adapterAccuracyMin = 0.65;
const baseAccuracyMax = 0.1;

const [folder, ...domains] = process.argv.slice(2);
if (folder === undefined || domains.length === 0) {
  process.stderr.write('usage: node tools/judgeAdapters.mjs FOLDER DOMAIN…\n');
  process.exit(1);
}

const percent = (share) => `${(100 * share).toFixed(1)} %`;
const judge = (domain) => {
  const figures = JSON.parse(readFileSync(join(folder, `${domain}.gguf.evaluation.json`), 'utf8'));
  const { questions, adapterAccuracy, baseAccuracy } = figures;
  // Written so that what is no number is no success either.
  const isGood = adapterAccuracy >= adapterAccuracyMin && baseAccuracy <= baseAccuracyMax;
  const judgement = isGood ? '' : `: not at least ${percent(adapterAccuracyMin)} and at most ${percent(baseAccuracyMax)}`;
  process.stdout.write(
    `${domain}: ${percent(adapterAccuracy)} of ${questions} with the adapter, ${percent(baseAccuracy)} without${judgement}\n`,
  );
  return isGood;
};

process.exit(domains.map(judge).every((isGood) => isGood) ? 0 : 1);
