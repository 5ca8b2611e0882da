import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GenerateRequest, noModel, plainSampling } from '../../../src/platform/index.js';
import { ChildEngineLauncher, PinoLogger } from '../../../src/platform/node/index.js';
import { writeTinyLlama } from '../../support/tinyLlama.js';

const { signal } = new AbortController();

describe('an engine with a model whose chat template is hostile (R22)', () => {
  let folder: string;
  let launcher: ChildEngineLauncher;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'ostraka-templates-'));
    const logger = PinoLogger.open({ level: 'warn', destination: 2 });
    launcher = new ChildEngineLauncher({ engineMainPath: 'dist/src/cli/engineMain.js', stopMsMax: 3000, logger });
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const launch = (chatTemplate: string) => {
    const model = writeTinyLlama(join(folder, 'tiny.gguf'), { chatTemplate });
    const chatModel = { name: 'tiny', ...model };
    return launcher.launch(
      { chatModel, embeddingModel: noModel, sequences: 2, contextTokens: 256, threads: 1, queueRequestsMax: 16 },
      signal,
    );
  };
  const request: GenerateRequest = {
    requestId: 'r',
    model: 'default',
    messages: [],
    sampling: { ...plainSampling, tokensMax: 4 },
    priority: 'normal',
  };
  const chat = { ...request, messages: [{ role: 'user' as const, content: 'hello' }] };

  it.each([
    ['loops', '{% for i in range(1000000000) %}{% endfor %}{{ messages[0].content }}', 'CHAT_REFUSED'],
    [
      'doubles a list over and over',
      '{% set ns = namespace(s=["ab"]) %}{% for i in range(60) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s | tojson }}',
      'CHAT_REFUSED',
    ],
    ['writes a message over and over', '{% for i in range(5000) %}{{ messages[0].content }}{% endfor %}', 'CONTEXT_LENGTH_EXCEEDED'],
  ])('refuses chats and answers plain prompts beside them, in bounded memory: one that %s', async (_, template, code) => {
    const engine = await launch(template);
    try {
      const finish = async (asked: GenerateRequest): Promise<string> => {
        let end = '';
        for await (const event of engine.modelService.generate(asked, signal)) end = event.kind;
        return end;
      };
      const plain = Array.from({ length: 3 }, () => finish({ ...request, prompt: 'hello' }));
      await Promise.all(Array.from({ length: 3 }, () => expect(finish(chat)).rejects.toMatchObject({ code })));
      expect(await Promise.all(plain)).toEqual(['finished', 'finished', 'finished']);
      const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${engine.pid}/status`, 'utf8'))?.[1];
      expect(Number(peak)).toBeLessThan(600_000);
    } finally {
      await engine.stop();
    }
  });

  it('does not start with one that cannot be read, and says why', async () => {
    await expect(launch('{% for x in %}')).rejects.toMatchObject({
      code: 'MODEL_INVALID',
      message: expect.stringContaining('the chat template of the model cannot be parsed'),
    });
    await expect(launch(`{{ "a" }}${' '.repeat(500_000)}`)).rejects.toMatchObject({
      code: 'MODEL_INVALID',
      message: expect.stringContaining('at most'),
    });
  });
});
