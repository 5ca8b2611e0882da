// Builds, finds the models, runs the benches: npm run bench -- NAME… [--json] [--quick] [--list].
import { spawnSync } from 'node:child_process';
import { modelPaths } from './modelPaths.mjs';

const run = (args, env = process.env) => spawnSync(process.execPath, args, { stdio: 'inherit', env }).status ?? 1;
if (run(['tools/build.mjs', '--quiet']) !== 0) process.exit(1);
const needsModels = !process.argv.includes('--list');
process.exit(run(['dist/bench/main.js', ...process.argv.slice(2)], needsModels ? { ...process.env, ...modelPaths() } : process.env));
