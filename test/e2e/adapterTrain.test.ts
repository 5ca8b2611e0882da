import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TrainerProcess } from '../../src/cli/training/TrainerProcess.js';
import type { TrainerConfig } from '../../src/cli/training/trainerMessages.js';
import { gguf } from '../../src/models/index.js';
import { linearWidths } from '../../src/platform/index.js';
import { readBaseFingerprint } from '../../src/platform/node/index.js';
import { encodeAdapter } from '../../src/training/index.js';
import { isRunning } from '../support/isRunning.js';
import { toPeftOrder, writePeftFiles } from '../support/peftFiles.js';
import { type CommandResult, runCommand } from '../support/runCommand.js';
import { noise, tinyShape, writeTinyLlama } from '../support/tinyLlama.js';

interface TrainEvent {
  readonly event: 'started' | 'step' | 'finished' | 'stopped';
  readonly pid: number;
  readonly step: number;
  readonly loss: number;
  readonly stepsDone: number;
}

describe('adapter train and import on a small generated model (R21, R29)', () => {
  let folder: string;
  let model: { readonly path: string; readonly digest: string };
  let data: string;
  const at = (name: string): string => join(folder, name);
  const words = ['bolt', 'rope', 'gear', 'wheel', 'cabin', 'mast', 'drive', 'brake', 'clamp', 'motor'];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-train-'));
    model = writeTinyLlama(at('tiny.gguf'));
    data = at('data.jsonl');
    writeFileSync(data, words.map((word, i) => `${JSON.stringify({ question: `${word}?`, answer: `${word[0]}${i}` })}\n`).join(''));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const trainArgs = (out: string, ...more: string[]): string[] => {
    const common = ['--domain', 'parts', '--data', data, '--model', model.path, '--out', at(out), '--batch', '4', '--json'];
    return ['adapter', 'train', ...common, '--checkpoint-seconds', '0', ...more];
  };
  const train = (out: string, ...more: string[]) => runCommand(trainArgs(out, ...more));
  const eventsOf = ({ stdout }: CommandResult): TrainEvent[] =>
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TrainEvent);
  const settings = ['--steps', '40', '--learning-rate', '0.02'];

  /** Starts a training and calls back once at a step. */
  const interrupt = async (args: readonly string[], atStep: number, onStep: (child: ChildProcess, trainerPid: number) => void) => {
    const child = spawn(process.execPath, ['dist/src/cli/main.js', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, stderr, rest, trainerPid, done] = ['', '', '', 0, false];
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = JSON.parse(line) as TrainEvent;
        if (event.event === 'started') trainerPid = event.pid;
        if (event.event !== 'step' || event.step < atStep || done) continue;
        done = true;
        onStep(child, trainerPid);
      }
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, stdout: output, stderr, trainerPid };
  };

  it('the same seed gives the same bytes, a loss that falls, and an adapter that evaluate takes', async () => {
    const whole = await train('whole.gguf', ...settings);
    expect([whole.code, whole.stderr]).toEqual([0, '']);
    const events = eventsOf(whole);
    expect(events.map(({ event }) => event)).toEqual(['started', ...Array.from({ length: 40 }, () => 'step'), 'finished']);
    expect(events.at(-2)?.loss).toBeLessThan(0.7 * (events[1]?.loss as number));
    await train('again.gguf', ...settings);
    const bytes = readFileSync(at('whole.gguf'));
    expect(readFileSync(at('again.gguf'))).toEqual(bytes);
    expect(bytes.includes('ostraka.training.seed') && bytes.includes(model.digest)).toBe(true);
    expect(readdirSync(folder).filter((name) => /checkpoint|tmp/.test(name))).toEqual([]);
    const args = ['--domain', 'parts', '--data', data, '--adapter', at('whole.gguf'), '--model', model.path, '--json'];
    const evaluated = await runCommand(['adapter', 'evaluate', ...args]);
    expect(JSON.parse(evaluated.stdout)).toMatchObject({ domain: 'parts', questions: words.length, baseAccuracy: 0 });
  });

  it.each<
    [string, (child: ChildProcess, trainerPid: number) => void, (result: { code: number | null; stderr: string; stdout: string }) => void]
  >([
    [
      'its child is ended as a native assertion ends it',
      (_, trainerPid) => process.kill(trainerPid, 'SIGABRT'),
      ({ code, stderr }) => {
        expect(code).toBe(1);
        expect(stderr).toMatch(/signal SIGABRT.*checkpoint.*\[TRAINER_LOST\]/);
      },
    ],
    ['it is killed', (child) => child.kill('SIGKILL'), ({ code }) => expect(code).toBeNull()],
    [
      'Ctrl-C stops it',
      (child) => child.kill('SIGINT'),
      ({ code, stdout }) => {
        expect(code).toBe(130);
        expect(stdout).toMatch(/"event":"stopped".*"stepsDone":\d+/);
      },
    ],
  ])('%s: its checkpoint stays, and gone on with it ends with the bytes of a run that was not stopped', async (name, end, check) => {
    const out = `${name.replaceAll(' ', '-')}.gguf`;
    let endedMs = 0;
    const result = await interrupt(trainArgs(out, ...settings), 12, (child, trainerPid) => {
      endedMs = performance.now();
      end(child, trainerPid);
    });
    check(result);
    for (let waits = 0; isRunning(result.trainerPid) && waits < 500; waits++) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(isRunning(result.trainerPid)).toBe(false);
    expect(performance.now() - endedMs).toBeLessThan(5_000);
    expect([existsSync(at(`${out}.checkpoint`)), existsSync(at(out))]).toEqual([true, false]);
    const resumed = await train(out, ...settings, '--resume');
    expect(resumed.code).toBe(0);
    expect(eventsOf(resumed)[0]?.stepsDone).toBeGreaterThanOrEqual(11);
    expect(readFileSync(at(out))).toEqual(readFileSync(at('whole.gguf')));
    expect(existsSync(at(`${out}.checkpoint`))).toBe(false);
  });

  it('an assertion of the native library is an error here that says which', async () => {
    const api = new URL('../../dist/src/platform/node/training/GgmlRunner.js', import.meta.url);
    // Two matrices that cannot be multiplied.
    const script = `import { GgmlRunner } from ${JSON.stringify(api.href)};
      const runner = new GgmlRunner({ threads: 1 });
      process.on('message', () => runner.run(8, (graph) => graph.matmul(graph.input(0, 3, 1), graph.input(0, 4, 1))));`;
    writeFileSync(at('asserting.mjs'), script);
    const ignore = (): void => undefined;
    const child = new TrainerProcess({ mainPath: at('asserting.mjs'), stopMsMax: 1_000, onStarted: ignore, onProgress: ignore });
    const ended = child.run({ checkpointFile: 'x.checkpoint' } as TrainerConfig, new AbortController().signal);
    await expect(ended).rejects.toMatchObject({
      code: 'TRAINER_LOST',
      message: expect.stringMatching(/^[^\n]*signal SIGABRT: [^\n]*GGML_ASSERT[^\n]*mul_mat[^\n]*$/),
    });
  });

  it('a disk without room is said, typed, and leaves nothing behind', async () => {
    const args = trainArgs('full.gguf', '--steps', '2').map((arg) => `'${arg}'`);
    // A limit of 8 KiB a file: what a full disk is to a write.
    const script = `ulimit -f 8; exec '${process.execPath}' dist/src/cli/main.js ${args.join(' ')}`;
    const child = spawn('bash', ['-c', script], { stdio: ['ignore', 'ignore', 'pipe'] });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(stderr).toMatch(/no room on the disk for .*full\.gguf\.checkpoint .*\[STORE_FULL\]/);
    expect(readdirSync(folder).filter((name) => name.startsWith('full'))).toEqual([]);
  });

  it('says in one line what it refuses of lines, models and settings', async () => {
    const file = (name: string, text: string): string => {
      writeFileSync(at(name), text);
      return at(name);
    };
    const line = '{"question":"a","answer":"b"}\n';
    const other = writeTinyLlama(at('experts.gguf'), { metadata: [gguf.metadata.u32('llama.expert_count', 4)] }).path;
    const cases: [readonly string[], RegExp][] = [
      [['--data', file('bad.jsonl', `${line}{"question":"a"}\n`)], /bad\.jsonl:2: answer.*\[TRAINING_DATA_INVALID\]/],
      [
        ['--data', file('long.jsonl', `${line}{"question":"a","answer":"${'b'.repeat(90)}"}\n`), '--context', '64'],
        /long\.jsonl:2: .* tokens, the context has 64 \[TRAINING_DATA_INVALID\]/,
      ],
      [['--model', other], /mixture of experts.*\[MODEL_INVALID\]/],
      [['--context', '1024'], /context of 1024 tokens: the model was trained on 256 \[USAGE\]/],
    ];
    const results = await Promise.all(cases.map(([args]) => train('refused.gguf', ...args)));
    for (const [i, { code, stderr }] of results.entries()) {
      expect([code, stderr.trim().split('\n').length]).toEqual([1, 1]);
      expect(stderr).toMatch((cases[i] as [unknown, RegExp])[1]);
    }
    expect(readdirSync(folder).filter((name) => name.startsWith('refused'))).toEqual([]);
  });

  it('import makes the file that the same matrices in GGUF’s order are written as, and refuses another base by name', async () => {
    const [rank, alpha] = [4, 8];
    const widths = linearWidths(tinyShape);
    const tensors = Array.from({ length: tinyShape.layers }, (_, layer) =>
      (['attn_q', 'attn_k', 'attn_v', 'attn_output'] as const).flatMap((target) => {
        const { inputs, outputs } = widths[target];
        const name = `blk.${layer}.${target}.weight.lora_`;
        return [
          { name: `${name}a`, columns: inputs, rows: rank, values: noise(`${name}a`, inputs * rank, 0.1) },
          { name: `${name}b`, columns: rank, rows: outputs, values: noise(`${name}b`, rank * outputs, 0.1) },
        ];
      }),
    ).flat();
    const config = { peft_type: 'LORA', r: rank, lora_alpha: alpha, bias: 'none' };
    writePeftFiles(at('peft'), { tensors: toPeftOrder(tensors, tinyShape), config });
    const args = ['--domain', 'parts', '--out', at('imported.gguf'), '--json'];
    const done = await runCommand(['adapter', 'import', at('peft'), ...args, '--model', model.path]);
    expect(done.code).toBe(0);
    expect(JSON.parse(done.stdout)).toMatchObject({ domain: 'parts', rank, tensors: tensors.length });
    const baseFingerprint = readBaseFingerprint(model.path);
    const expected = encodeAdapter({ domain: 'parts', baseDigest: model.digest, baseFingerprint, rank, alpha, tensors });
    expect(readFileSync(at('imported.gguf'))).toEqual(Buffer.from(expected));
    const wrong = await runCommand(['adapter', 'import', join(at('peft'), 'adapter_model.safetensors'), ...args]); // the default model
    expect(wrong.stderr).toMatch(/q_proj\.lora_A\.weight has shape \[4, 64\].*\[4, 576\].*\[ADAPTER_IMPORT_REFUSED\]/);
    writePeftFiles(at('peft'), { tensors, config: { ...config, use_dora: true } });
    const dora = await runCommand(['adapter', 'import', at('peft'), ...args, '--model', model.path]);
    expect([dora.code, dora.stderr.trim().split('\n').length]).toEqual([1, 1]);
    expect(dora.stderr).toMatch(/use_dora.*\[ADAPTER_IMPORT_REFUSED\]/);
  });
});
