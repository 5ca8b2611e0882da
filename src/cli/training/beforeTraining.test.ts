import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkCheckpoint } from './checkCheckpoint.js';
import { chooseOutFile } from './chooseOutFile.js';
import { chooseSettings } from './chooseSettings.js';

describe('what a training is asked for, before any work', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-out-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const usage = (message: RegExp) => expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(message) });

  it('the adapter goes to the file named, else to DOMAIN.gguf here', async () => {
    expect(await chooseOutFile({ domain: 'legal', out: join(folder, 'x') })).toBe(join(folder, 'x'));
    expect(await chooseOutFile({ domain: 'legal' })).toBe(resolve('legal.gguf'));
  });

  it.each([
    ['a folder that is not there', { domain: 'legal', out: '/nowhere/x.gguf' }, /folder of .* is not there/],
    ['a folder as a file', { domain: 'legal', out: tmpdir() }, /is a folder/],
    ['a domain that makes no file name', { domain: '../etc' }, /--out FILE/],
    ['a domain without a name', { domain: '' }, /0 characters/],
    ['a domain that is too long', { domain: 'x'.repeat(129) }, /129 characters/],
  ])('%s is refused', async (_, flags, message) => {
    await expect(chooseOutFile(flags)).rejects.toEqual(usage(message));
  });

  it('a checkpoint is neither overwritten nor invented', () => {
    const present = join(folder, '..');
    expect(() => checkCheckpoint(present, false)).toThrow(expect.objectContaining({ code: 'TRAINING_CHECKPOINT_FOUND' }));
    expect(() => checkCheckpoint(join(folder, 'none'), true)).toThrow(expect.objectContaining({ code: 'TRAINING_CHECKPOINT_MISSING' }));
    checkCheckpoint(present, true);
    checkCheckpoint(join(folder, 'none'), false);
  });

  const flags = { rank: 8, learningRate: 2e-3, batch: 8, seed: 1 };
  const facts = { examples: 307, contextTokensOfModel: 8192 };

  it('epochs become steps, alpha twice the rank, and the context 512 or what the model has', () => {
    expect(chooseSettings(flags, facts)).toMatchObject({ steps: 234, alpha: 16, contextTokens: 512 });
    expect(chooseSettings({ ...flags, epochs: 1, alpha: 4 }, { ...facts, contextTokensOfModel: 256 })).toMatchObject({
      steps: 39,
      alpha: 4,
      contextTokens: 256,
    });
    expect(chooseSettings({ ...flags, steps: 5, context: 64 }, facts)).toMatchObject({ steps: 5, contextTokens: 64 });
  });

  it.each([
    ['steps and epochs', { steps: 1, epochs: 1 }, /not both/],
    ['more context than the model has', { context: 10_000 }, /context of 10000 tokens: the model was trained on 8192/],
    ['more steps than the bound', { epochs: 10_000, batch: 1 }, /steps/],
  ])('%s are refused', (_, change, message) => {
    expect(() => chooseSettings({ ...flags, ...change }, facts)).toThrow(usage(message));
  });
});
