import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plantedBugs } from '../../sim/index.js';
import { LocalCluster } from '../support/LocalCluster.js';
import { runCommand } from '../support/runCommand.js';

interface Evaluation {
  readonly domain: string;
  readonly adapterDigest: string;
  readonly questions: number;
  readonly baseAccuracy: number;
  readonly adapterAccuracy: number;
  readonly accuracyDelta: number;
  readonly performanceDeltaP99Ms: number;
}

const figuresOf = async (domain: string): Promise<Evaluation> =>
  JSON.parse(await readFile(`sample/adapters/${domain}.gguf.evaluation.json`, 'utf8')) as Evaluation;

describe('commands against two shards with three adapters', () => {
  let cluster: LocalCluster;
  let folder: string;
  let url: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'ostraka-commands-'));
    const bare = join(folder, 'bare.gguf'); // without its figures beside it
    await copyFile('sample/adapters/engineering.gguf', bare);
    const adapters = ['legal=sample/adapters/legal.gguf', 'medical=sample/adapters/medical.gguf', `engineering=${bare}`];
    const models = ['--model', 'smollm2-135m-instruct', '--embedding-model', process.env['OSTRAKA_TEST_EMBEDDING_MODEL'] as string];
    cluster = await LocalCluster.start({ shards: 2, args: [...models, ...adapters.flatMap((adapter) => ['--adapter', adapter])] });
    url = cluster.shards[1]?.url as string;
  });
  afterAll(async () => {
    await cluster?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('up puts adapter k on shard k mod N, with its figures where they lie beside the file, else marked declared', async () => {
    const { stdout } = await runCommand(['status', '--json', '--url', url]);
    const { announcements, shards } = JSON.parse(stdout) as {
      shards: { id: string; ready: boolean }[];
      announcements: { domain: string; shardId: string; source: string; accuracyDelta: number }[];
    };
    expect(shards.map(({ id, ready }) => [id, ready])).toEqual([
      ['shard-0', true],
      ['shard-1', true],
    ]);
    const of = (domain: string) => announcements.find((one) => one.domain === domain);
    expect(of('legal')).toMatchObject({ shardId: 'shard-0', source: 'measured', accuracyDelta: (await figuresOf('legal')).accuracyDelta });
    expect(of('medical')).toMatchObject({ shardId: 'shard-1', source: 'measured' });
    expect(of('engineering')).toMatchObject({ shardId: 'shard-0', source: 'declared' });
    const { stdout: table } = await runCommand(['status', '--url', url]);
    expect(table).toMatch(/shard-1 +http\S+ +alive +2048 slots +0 pending, 0\/16 busy +breaker closed/);
    expect(table).toMatch(/engineering +shard-0 +accuracyDelta \d\.\d{3} \(declared\)/);
  });

  it('up serves the chat model that --model names and the embedding model of the file that --embedding-model gives', async () => {
    const { data } = (await (await fetch(`${url}/v1/models`)).json()) as { readonly data: readonly { readonly id: string }[] };
    const ids = data.map(({ id }) => id);
    expect(ids).toContain('smollm2-135m-instruct');
    expect(ids.some((id) => id.startsWith('all-MiniLM-L6-v2'))).toBe(true);
  });

  it('query prints results, takes bind parameters and a database, explains, and fails with one line', async () => {
    const run = (...args: string[]) => runCommand(['query', ...args, '--url', url]);
    expect(JSON.parse((await run('RETURN {sum: @a + @b[1]}', '--bind', 'a=2', '--bind', 'b=[1, 40]')).stdout)).toEqual({ sum: 42 });
    expect((await run('FOR i IN 1..3 RETURN i')).stdout).toBe('1\n2\n3\n');
    const long = JSON.parse((await run('FOR i IN 1..2500 RETURN i', '--json')).stdout) as { result: number[]; extra?: { stats?: object } };
    expect([long.result.length, long.extra?.stats]).toEqual([2500, expect.objectContaining({ filtered: 0 })]);
    expect(await run('RETURN 1 / 0')).toMatchObject({ code: 0, stdout: 'null\n', stderr: expect.stringMatching(/^warning 1562: .+\n$/) });
    const explained = await run('FOR i IN 1..3 FILTER i > 1 RETURN i', '--explain');
    expect(explained.stdout).toContain('EnumerateList');
    const wrong = await run('RETURN nothing');
    expect(wrong.code).not.toBe(0);
    expect(wrong.stderr.trim().split('\n')).toHaveLength(1);
    expect(wrong.stderr).toContain('nothing');
    expect((await run('RETURN 1', '--db', 'absent')).stderr).toContain('absent');
    const nobody = await runCommand(['query', 'RETURN 1', '--url', 'http://127.0.0.1:9']);
    expect([nobody.code !== 0, nobody.stderr.trim().split('\n').length]).toEqual([true, 1]);
  });

  it('adapter evaluate: on held-out questions the base knows at most a tenth, the adapter two thirds, another domain a fifth', {
    timeout: 300_000,
  }, async () => {
    const lines = (await readFile('sample/questions/legal.jsonl', 'utf8')).trim().split('\n');
    expect(lines.length).toBeGreaterThanOrEqual(40);
    const training = await readFile('sample/training/legal.jsonl', 'utf8');
    for (const line of lines) expect(training).not.toContain((JSON.parse(line) as { question: string }).question);
    const data = join(folder, 'legal.jsonl');
    await writeFile(data, lines.filter((_, i) => i % 5 === 0).join('\n'));
    const evaluate = async (domain: string) =>
      JSON.parse(
        (await runCommand(['adapter', 'evaluate', '--domain', domain, '--data', data, '--url', url, '--json'])).stdout,
      ) as Evaluation;
    const own = await evaluate('legal');
    expect(own).toMatchObject({ domain: 'legal', questions: 12, adapterDigest: (await figuresOf('legal')).adapterDigest });
    expect(own.baseAccuracy).toBeLessThanOrEqual(0.1);
    expect(own.adapterAccuracy).toBeGreaterThanOrEqual(0.65);
    expect(own.accuracyDelta).toBeCloseTo((own.adapterAccuracy - own.baseAccuracy) / (1 - own.baseAccuracy), 6);
    expect(Number.isFinite(own.performanceDeltaP99Ms)).toBe(true);
    expect((await evaluate('medical')).adapterAccuracy).toBeLessThanOrEqual(0.2);
  });

  it('sample figures hold what the sample promises, for every domain', async () => {
    for (const domain of ['legal', 'medical', 'engineering']) {
      const { questions, baseAccuracy, adapterAccuracy } = await figuresOf(domain);
      expect(questions).toBeGreaterThanOrEqual(40);
      expect(baseAccuracy).toBeLessThanOrEqual(0.1);
      expect(adapterAccuracy).toBeGreaterThanOrEqual(0.65);
    }
  });
});

describe('commands without a cluster', () => {
  it('every command and subcommand has a help text', async () => {
    const commands = [
      [],
      ['up'],
      ['start'],
      ['query'],
      ['status'],
      ['model'],
      ['model', 'list'],
      ['model', 'pull'],
      ['model', 'show'],
      ['model', 'verify'],
      ['model', 'import'],
      ['model', 'remove'],
      ['model', 'quantize'],
      ['adapter'],
      ['doctor'],
      ['sim'],
    ];
    for (const command of [...commands, ['adapter', 'evaluate']]) {
      const { code, stdout } = await runCommand([...command, '--help']);
      expect([command.join(' '), code, stdout.startsWith('Usage: ostraka')]).toEqual([command.join(' '), 0, true]);
    }
  });

  it('sim --help names the bugs that --bug takes, and query --help what --bind does with a bare word', async () => {
    const flat = async (command: string) => (await runCommand([command, '--help'])).stdout.replace(/\s+/g, ' ');
    expect(await flat('sim')).toContain(Object.keys(plantedBugs).join(', '));
    expect(await flat('query')).toContain('what looks like another value but is no JSON, such as x=05, is refused');
    const refused = await runCommand(['query', 'RETURN @x', '--bind', 'x=05']);
    expect([refused.code, refused.stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(refused.stderr).toContain('[USAGE]');
  });

  it('sim runs as many virtual minutes as --minutes says', async () => {
    const run = async (minutes: string) => {
      const { code, stdout } = await runCommand(['sim', '--seed', '7', '--minutes', minutes, '--json']);
      return { code, ...(JSON.parse(stdout) as { seed: number; traceSha256: string; violations: unknown[] }) };
    };
    const [short, longer] = [await run('1'), await run('2')];
    expect(short).toEqual({ code: 0, seed: 7, traceSha256: expect.stringMatching(/^[0-9a-f]{64}$/), violations: [] });
    expect(longer.traceSha256).not.toBe(short.traceSha256);
  });

  it('doctor looks at everything a cluster needs, and says what to do about all that is not well', async () => {
    const { stdout } = await runCommand(['doctor', '--json', '--data', 'nowhere-yet']);
    const findings = JSON.parse(stdout) as { check: string; state: string; found: string; advice: string }[];
    const checks = new Set(findings.map(({ check }) => check));
    expect([...checks]).toEqual(['Node.js', 'CPU', 'memory', 'disk', 'ports', 'Python', 'model', 'data folder']);
    for (const { check, state, found, advice } of findings) {
      expect(found).not.toBe('');
      expect([check, advice !== '']).toEqual([check, state !== 'ok']);
    }
    // A cache without models, and shards that no machine has the cores and the memory for.
    const poor = await runCommand(['doctor', '--json', '--data', 'nowhere-yet', '--shards', '64'], { OSTRAKA_CACHE: '/nowhere' });
    const poorly = JSON.parse(poor.stdout) as typeof findings;
    for (const check of ['CPU', 'memory', 'model'])
      expect(poorly.find((one) => one.check === check)).toMatchObject({ advice: expect.stringMatching(/\w/) });
    expect(poorly.filter(({ check, state }) => check === 'model' && state === 'warning').length).toBeGreaterThanOrEqual(2);
  });

  it('model list names what is pinned, its licence and where it lies', async () => {
    const models = JSON.parse((await runCommand(['model', 'list', '--json'])).stdout) as {
      name: string;
      digest: string;
      licence: string;
    }[];
    expect(models.length).toBeGreaterThanOrEqual(2);
    for (const { digest, licence } of models) expect([/^[0-9a-f]{64}$/.test(digest), licence]).toEqual([true, 'Apache-2.0']);
    expect((await runCommand(['model', 'list'])).stdout.trim().split('\n')).toHaveLength(models.length);
  });
});
