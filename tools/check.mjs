// Format, lint, types, core types, borders (with the planted canary), unused code, unit tests. Stops at the first that fails.
import { spawnSync } from 'node:child_process';

const node = process.execPath;
const bin = (name) => `node_modules/.bin/${name}`;
const steps = [
  ['format and lint', bin('biome'), ['ci', '--error-on-warnings', '.']],
  ['types', node, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']],
  ['core types (no Node, no DOM)', node, ['node_modules/typescript/bin/tsc', '-p', 'tools/tsconfig.core.json']],
  ['borders', node, ['tools/borders.mjs']],
  ['borders find a planted bad import', node, ['tools/borders.mjs', '--canary']],
  ['unused code', bin('knip'), []],
  ['unit tests', node, ['node_modules/vitest/vitest.mjs', 'run', '--project', 'unit', '--reporter', 'dot']],
];
const started = performance.now();
for (const [name, command, args] of steps) {
  const from = performance.now();
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  console.log(`${status === 0 ? 'ok' : 'FAILED'}  ${name}  ${((performance.now() - from) / 1000).toFixed(1)} s`);
  if (status !== 0) process.exit(1);
}
console.log(`check passed in ${((performance.now() - started) / 1000).toFixed(1)} s`);
