import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) => existsSync(file));
const source = files.filter((file) => /^(src|sim|bench)\/.*\.ts$/.test(file) && !file.endsWith('.test.ts'));
const core = source.filter((file) => file.startsWith('src/') && !/^src\/(platform\/(node|conformance)|cli)\//.test(file));
const matching = (among: readonly string[], pattern: RegExp): string[] =>
  among.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, i) => (pattern.test(line) ? [`${file}:${i + 1}: ${line.trim().slice(0, 100)}`] : [])),
  );

describe('rules of the repository', () => {
  it('has a short list of root entries', () => {
    const roots = new Set(files.map((file) => file.split('/')[0]));
    expect([...roots].sort()).toEqual([
      '.ci',
      '.gitignore',
      '.npmrc',
      'LICENSE',
      'README.md',
      'bench',
      'biome.json',
      'docs',
      'package-lock.json',
      'package.json',
      'sample',
      'sim',
      'src',
      'test',
      'tools',
      'tsconfig.json',
      'vitest.config.ts',
    ]);
  });

  it('names no machine path and no registry address', () => {
    const texts = files.filter((file) => /\.(ts|mjs|md|json|yml|yaml|sh)$|^\.ci\/run$/.test(file) && file !== 'test/repo.test.ts');
    expect(matching(texts, /(^|[^A-Za-z0-9_.-])\/(work|root|home\/[a-z]+)\//)).toEqual([]);
    expect(matching(texts, /https?:\/\/[a-z.-]*(npmjs|pypi|pythonhosted|crates|golang|debian|maven)[a-z.-]*\./)).toEqual([]);
    expect(readFileSync('package-lock.json', 'utf8')).not.toContain('"resolved"');
  });

  it('keeps core free of clocks, chance, timers and Node', () => {
    expect(
      matching(core, /\bDate\.now\(|\bMath\.random\(|\bsetTimeout\(|\bsetInterval\(|\bsetImmediate\(|\bperformance\.|from 'node:/),
    ).toEqual([]);
  });

  it('waits for a signal, which work may share, by onAbort, clock.sleep or raceAbort alone: one listener, none left behind', () => {
    const own = ['src/base/onAbort.ts', 'src/base/coreGlobals.d.ts'];
    expect(
      matching(
        source.filter((file) => !own.includes(file)),
        /addEventListener\(/,
      ),
    ).toEqual([]);
  });

  it('has no default export, any, ignored type or open end in the source', () => {
    expect(matching(source, /^export default|^[^*/]*(:|<|as) any\b|@ts-ignore|@ts-nocheck|\bTODO\b|\bFIXME\b/)).toEqual([]);
  });

  it('focuses and skips no test without a reason', () => {
    const tests = files.filter((file) => file.endsWith('.test.ts') && file !== 'test/repo.test.ts');
    expect(matching(tests, /\b(it|test|describe)\.(only|todo)\(/)).toEqual([]);
  });

  it('names a file for its export', () => {
    const misnamed = source.filter((file) => {
      const name =
        file
          .split('/')
          .at(-1)
          ?.replace(/(\.bench)?\.ts$/, '') ?? '';
      const isEntry = ['index', 'engine', 'main', 'engineMain', 'errors', 'options', 'metrics', 'ids', 'coreGlobals.d', 'soak'].includes(
        name,
      );
      const text = readFileSync(file, 'utf8');
      // Files of a vocabulary (messages, patterns, kinds, options, limits) hold several names of one kind.
      const isVocabulary = /(Messages|Patterns|Kinds|Options|limits)$/.test(name);
      return (
        !isEntry &&
        !isVocabulary &&
        !new RegExp(`export (async )?(abstract )?(function\\*?|class|const|interface|type) ${name}(Bench)?\\b`, 'i').test(text)
      );
    });
    expect(misnamed).toEqual([]);
  });

  it('keeps files in hand: none over 500 lines of source, none over 2 MB', () => {
    expect(source.filter((file) => readFileSync(file, 'utf8').split('\n').length > 500)).toEqual([]);
    expect(files.filter((file) => statSync(file).size > 2_000_000)).toEqual([]);
  });

  it('has a paper map whose every path exists, with a row for each requirement', () => {
    const map = readFileSync('docs/paper-map.md', 'utf8');
    const paths = [...map.matchAll(/`((?:src|sim|bench|test|docs|tools)\/[^`]+)`/g)].map(([, path]) => path as string);
    expect(paths.length).toBeGreaterThan(60);
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
    for (let i = 1; i <= 41; i++) expect(map).toMatch(new RegExp(`^\\| R${i} \\|.*\\| (works|partial|none) \\|`, 'm'));
  });

  // It builds the product first, which takes its time while others use the machine.
  it('has generated documents that are fresh', { timeout: 300_000 }, () => {
    expect(spawnSync(process.execPath, ['tools/build.mjs', '--quiet']).status).toBe(0);
    const { status, stdout } = spawnSync(process.execPath, ['tools/generateDocs.mjs', '--check'], { encoding: 'utf8' });
    expect(stdout).toBe('');
    expect(status).toBe(0);
  });

  it('has a README with the two commands', () => {
    const readme = readFileSync('README.md', 'utf8');
    expect(readme).toContain('npm ci && npm start');
    expect(readme).toContain('npm ci && npm test');
  });
});
