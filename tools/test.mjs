// Everything: build, models (fetched once into the user's cache), all test projects. Ends with `N passed, N failed`.
// Arguments are passed on to vitest: `npm test -- --project unit`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { modelPaths } from './modelPaths.mjs';

const node = process.execPath;
const run = (args, options = {}) => spawnSync(node, args, { stdio: 'inherit', ...options });

if (run(['tools/build.mjs']).status !== 0) process.exit(1);
run(['tools/ensureSystemPackages.mjs']);
const models = modelPaths();

const folder = mkdtempSync(join(tmpdir(), 'ostraka-test-'));
const report = join(folder, 'report.json');
const { status } = run(
  [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--reporter',
    'default',
    '--reporter',
    'json',
    '--outputFile.json',
    report,
    ...process.argv.slice(2),
  ],
  { env: { ...process.env, ...models } },
);
const { numPassedTests, numFailedTests, numFailedTestSuites, success, testResults } = JSON.parse(readFileSync(report, 'utf8'));
rmSync(folder, { recursive: true, force: true });
// What this machine cannot run is said, so that nobody takes it for shown.
for (const { assertionResults } of testResults)
  for (const { status: state, fullName } of assertionResults)
    if (state === 'skipped' || state === 'pending') console.log(`skipped: ${fullName}`);
// A file that cannot be loaded has no failed test, but it is a failure.
const failed = numFailedTests === 0 && !success ? Math.max(1, numFailedTestSuites) : numFailedTests;
console.log(`${numPassedTests} passed, ${failed} failed`);
process.exit(status === 0 && failed === 0 ? 0 : 1);
