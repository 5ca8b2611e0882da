// Writes the generated parts of docs/: the import table in ARCHITECTURE.md and reference/errors.md. `--check` only compares (a test runs it).
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { allowedImports } from './allowedImports.mjs';

const check = process.argv.includes('--check');
const stale = [];
const put = (path, text) => {
  let present = '';
  try {
    present = readFileSync(path, 'utf8');
  } catch {
    // not there yet
  }
  if (present === text) return;
  stale.push(path);
  if (!check) writeFileSync(path, text);
};

const code = (names) => names.map((name) => `\`${name}\``).join(', ') || '–';
const rows = Object.entries(allowedImports).map(([name, { imports, npm }]) => `| ${name} | ${code(imports)} | ${code(npm)} |`);
const table = ['| module | may import | npm |', '|---|---|---|', ...rows].join('\n');
const architecture = readFileSync('docs/ARCHITECTURE.md', 'utf8');
put(
  'docs/ARCHITECTURE.md',
  architecture.replace(
    /(<!-- allowed-imports:begin -->\n)[\s\S]*?(<!-- allowed-imports:end -->)/,
    (_, begin, end) => `${begin}${table}\n${end}`,
  ),
);

const modules = readdirSync('dist/src', { withFileTypes: true }).filter((entry) => entry.isDirectory());
const sections = [];
for (const { name } of modules) {
  const file = `../dist/src/${name}/errors.js`;
  const loaded = await import(file).catch((error) => {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return {};
    throw error;
  });
  const tables = Object.values(loaded).filter((value) => typeof value === 'object' && value !== null);
  for (const errors of tables) {
    const lines = Object.entries(errors).map(
      ([errorCode, one]) =>
        `| \`${errorCode}\` | ${one.httpStatus} | ${one.errorNum || '–'} | ${one.retryable ? 'yes' : 'no'} | ${one.meaning} | ${one.action} |`,
    );
    sections.push(
      `## ${name}\n\n| code | HTTP | errorNum | retry | meaning | what to do |\n|---|---|---|---|---|---|\n${lines.join('\n')}\n`,
    );
  }
}
put(
  'docs/reference/errors.md',
  `# Errors\n\nGenerated from the \`errors.ts\` of each module by \`node tools/generateDocs.mjs\`. \`errorNum\` is ArangoDB's, 8000–8999 are Ostraka's own; the code is \`ostrakaCode\` in an answer.\n\n${sections.join('\n')}`,
);

if (check && stale.length > 0) {
  console.log(`stale, run node tools/generateDocs.mjs: ${stale.join(', ')}`);
  process.exit(1);
}
