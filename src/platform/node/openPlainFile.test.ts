import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { platformError } from '../index.js';
import { hashFile } from './hashFile.js';
import { checkModelFile } from './llama/checkModelFile.js';
import { readBaseFingerprint } from './llama/readBaseFingerprint.js';
import { readModelDescription } from './llama/readModelDescription.js';
import { openPlainFile } from './openPlainFile.js';
import { describeModelFile } from './training/describeModelFile.js';

describe('a path of a user', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-plain-'));
    writeFileSync(join(folder, 'file'), 'abc');
    writeFileSync(join(folder, 'empty'), '');
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    symlinkSync('/dev/zero', join(folder, 'endless'));
    symlinkSync(join(folder, 'pipe'), join(folder, 'link to pipe'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const refuse = (reason: string, cause?: unknown) => platformError('MODEL_INVALID', reason, { cause });

  it('is opened where a plain file is', async () => {
    const { file, bytes } = openPlainFile(join(folder, 'file'));
    closeSync(file);
    expect(bytes).toBe(3);
    expect(await hashFile(join(folder, 'file'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    expect(await hashFile(join(folder, 'empty'))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
  });

  it.each(['pipe', 'link to pipe', 'endless', '.'])('is refused at once by whatever reads models: %s', async (name) => {
    const path = join(folder, name);
    expect(() => openPlainFile(path)).toThrow('it is no plain file');
    await expect(hashFile(path)).rejects.toThrow('it is no plain file');
    for (const read of [readModelDescription, readBaseFingerprint, describeModelFile, (at: string) => checkModelFile(at, refuse)])
      expect(() => read(path)).toThrow(
        expect.objectContaining({ code: 'MODEL_INVALID', message: expect.stringContaining('it is no plain file') }),
      );
  });

  it.skipIf(process.platform !== 'linux')('is no model where a file of the kernel is', () => {
    for (const path of ['/proc/kmsg', '/proc/self/maps', '/proc/kcore'])
      expect(() => readModelDescription(path)).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
  });
});
