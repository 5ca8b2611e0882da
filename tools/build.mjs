// Compiles src/, sim/ and bench/ to dist/ and marks the command executable. Skips quickly when nothing changed (incremental build).
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';

const quiet = process.argv.includes('--quiet');
const started = performance.now();
const tsc = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tools/tsconfig.build.json'], {
  stdio: ['ignore', 'inherit', 'inherit'],
});
if (tsc.status !== 0) process.exit(1);
const command = 'dist/src/cli/main.js';
if (existsSync(command)) chmodSync(command, 0o755);
if (!quiet) console.log(`built in ${((performance.now() - started) / 1000).toFixed(1)} s`);
