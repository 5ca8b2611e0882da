// npm run sample:adapters -- [DOMAIN…] [--out FOLDER] [--threads N]: trains the sample's adapters from sample/training with the product's
// trainer, each with the settings that are its defaults, and judges them on sample/questions: exits with 1 and the figures where one does
// not reach what tools/judgeAdapters.mjs asks for. Writes into FOLDER (dist/sample-adapters), never over the sample. A run that was stopped
// goes on: call it again.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const args = process.argv.slice(2);
const option = (name, fallback) => (args.includes(name) ? args.splice(args.indexOf(name), 2)[1] : fallback);
const folder = option('--out', 'dist/sample-adapters');
const threads = option('--threads', '1');
const domains = args.length > 0 ? args : ['legal', 'medical', 'engineering'];

const run = (file, ...more) => {
  const { status } = spawnSync(process.execPath, [file, ...more], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
const ostraka = (...more) => run('dist/src/cli/main.js', ...more);

run('tools/build.mjs', '--quiet');
mkdirSync(folder, { recursive: true });
for (const domain of domains) {
  const data = `sample/training/${domain}.jsonl`;
  const out = join(folder, `${domain}.gguf`);
  const resume = existsSync(`${out}.checkpoint`) ? ['--resume'] : [];
  ostraka('adapter', 'train', '--domain', domain, '--data', data, '--out', out, '--threads', threads, ...resume);
  ostraka('adapter', 'evaluate', '--domain', domain, '--data', `sample/questions/${domain}.jsonl`, '--adapter', out, '--write');
  const figures = `${out}.evaluation.json`;
  const trainingSamples = readFileSync(data, 'utf8').trim().split('\n').length;
  writeFileSync(figures, `${JSON.stringify({ ...JSON.parse(readFileSync(figures, 'utf8')), trainingSamples }, undefined, 2)}\n`);
}
run('tools/judgeAdapters.mjs', folder, ...domains);
