// Turns allowedImports into dependency-cruiser rules and runs them over src/ and sim/. Exits 1 on a violation.
// `--canary` cruises a planted bad import instead and must find it; `--count` prints the number of modules cruised.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { cruise } from 'dependency-cruiser';
import extractTSConfig from 'dependency-cruiser/config-utl/extract-ts-config';
import { allowedImports, nodeModules } from './allowedImports.mjs';

const folderOf = (name) => (name === 'sim' ? 'sim' : `src/${name}`);
const escapeRegex = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
const test = '\\.test\\.ts$|^src/platform/conformance/';

const ownPath = (name) => (name === 'platform' ? '^src/platform/(?!node/|conformance/)' : `^${folderOf(name)}/`);

const rulesOf = ([name, { imports, npm }]) => {
  const from = { path: ownPath(name), pathNot: test };
  const entry = (other) => `^${folderOf(other)}/(index|engine)\\.ts$`;
  const allowed = [ownPath(name), '^src/base/index\\.ts$', ...imports.map(entry)];
  const packages = npm.map((id) => `(^|/)node_modules/${escapeRegex(id).replace('\\*', '[^/]+')}(/|$)`);
  const builtin = nodeModules.includes(name) ? ['^node:', '^[a-z0-9_/]+$'] : [];
  return {
    name: `${name}-imports`,
    comment: `${name} may import base, ${imports.join(', ') || 'nothing else of the project'}, each through its index.ts (or engine.ts, where it has one)`,
    severity: 'error',
    from,
    to: { pathNot: [...allowed, ...packages, ...builtin].join('|') },
  };
};

const forbidden = [
  { name: 'no-cycles', severity: 'error', from: { path: '^(src|sim)/' }, to: { circular: true } },
  // A suite is run on every adapter of its port, wherever that runs.
  { name: 'conformance-imports', severity: 'error', from: { path: '^src/platform/conformance/' }, to: { dependencyTypes: ['core'] } },
  { name: 'no-test-imports', severity: 'error', from: { path: '^src/', pathNot: test }, to: { path: test } },
  ...Object.entries(allowedImports).map(rulesOf),
];

const canaryFile = 'src/base/borderCanary.ts';
const canary = process.argv.includes('--canary');
if (canary) {
  mkdirSync('src/base', { recursive: true });
  writeFileSync(canaryFile, "import { readFileSync } from 'node:fs';\nexport const borderCanary = readFileSync;\n");
}
try {
  const result = await cruise(
    ['src', 'sim'],
    {
      ruleSet: { forbidden },
      validate: true,
      doNotFollow: { path: 'node_modules' },
      exclude: { path: 'coreGlobals' },
      tsPreCompilationDeps: true,
      combinedDependencies: true,
      enhancedResolveOptions: {
        extensionAlias: { '.js': ['.ts', '.js'] },
        exportsFields: ['exports'],
        conditionNames: ['import', 'node', 'types'],
      },
    },
    undefined,
    { tsConfig: extractTSConfig('tsconfig.json') },
  );
  const { violations, totalCruised } = result.output.summary;
  const errors = violations.filter(({ rule }) => rule.severity === 'error');
  for (const { rule, from, to } of errors) console.log(`border ${rule.name}: ${from} -> ${to}`);
  console.log(`borders: ${totalCruised} modules cruised, ${errors.length} violations`);
  const found = errors.some(({ from }) => from === canaryFile);
  if (canary) process.exitCode = found ? 0 : 1;
  else process.exitCode = errors.length === 0 && totalCruised > 20 ? 0 : 1;
} finally {
  if (canary) rmSync(canaryFile);
}
