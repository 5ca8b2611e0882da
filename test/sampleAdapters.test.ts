import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

describe('adapters are judged by what they were measured to do (R21)', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-judged-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const judge = (...args: readonly string[]) => {
    const { status, stdout } = spawnSync(process.execPath, ['tools/judgeAdapters.mjs', ...args], { encoding: 'utf8' });
    return { status, lines: stdout.trimEnd().split('\n') };
  };
  const store = (domain: string, figures: object): void =>
    writeFileSync(join(folder, `${domain}.gguf.evaluation.json`), JSON.stringify({ questions: 60, ...figures }));

  it('passes those of the sample, with their figures', () => {
    expect(judge('sample/adapters', 'legal', 'medical', 'engineering')).toEqual({
      status: 0,
      lines: [
        'legal: 100.0 % of 60 with the adapter, 0.0 % without',
        'medical: 98.3 % of 60 with the adapter, 0.0 % without',
        'engineering: 98.3 % of 60 with the adapter, 0.0 % without',
      ],
    });
  });

  it('fails with all figures where one adapter knows too little, the base too much, or nothing was measured', () => {
    store('good', { adapterAccuracy: 0.65, baseAccuracy: 0.1 });
    store('weak', { adapterAccuracy: 0.64, baseAccuracy: 0 });
    store('known', { adapterAccuracy: 1, baseAccuracy: 0.11 });
    store('unmeasured', {});
    expect(judge(folder, 'good').status).toBe(0);
    for (const bad of ['weak', 'known', 'unmeasured']) {
      const { status, lines } = judge(folder, bad, 'good');
      expect([status, lines.length, lines[0]?.startsWith(`${bad}: `)]).toEqual([1, 2, true]);
      expect(lines[0]).toContain('not at least 65.0 % and at most 10.0 %');
    }
    expect([judge(folder, 'missing').status, judge(folder).status]).toEqual([1, 1]);
  });
});
