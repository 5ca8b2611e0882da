import { afterEach, describe, expect, it } from 'vitest';
import { openToyEngine, type ToyEngine } from '../../sim/engine/index.js';
import { type GenerateRequest, plainSampling, type SamplingOptions, type ToolUse } from '../platform/index.js';
import { NodeRandom, PinoLogger } from '../platform/node/index.js';

const parameters = {
  type: 'object',
  properties: { city: { type: 'string', maxLength: 8 } },
  required: ['city'],
  additionalProperties: false,
};
const use: ToolUse = { tools: [{ name: 'weather', parameters, strict: true }], callable: ['weather'], isRequired: true, callsMax: 1 };
const callForm = /^<tool_call>\n\{"name": "weather", "arguments": \{\s*"city": ?"[^"]*"\s*\}\}\n<\/tool_call>$/;

describe('tools of the engine, on a model that knows none (R22)', () => {
  let toy: ToyEngine | undefined;
  afterEach(async () => {
    await toy?.engine.close(new Error('test is over'));
    toy = undefined;
  });
  const open = (answer: string) => {
    const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
    const bounds = { sequences: 4, contextTokens: 2048, queueRequestsMax: 32 };
    const opened = openToyEngine({ random: new NodeRandom(), logger, script: [{ question: 'scripted', answer }], ...bounds });
    toy = opened;
    return async (content: string, tools: Partial<ToolUse>, sampling: Partial<SamplingOptions> = {}) => {
      const asked = { requestId: content, model: 'default', messages: [{ role: 'user', content }], priority: 'normal' } as const;
      const request: GenerateRequest = {
        ...asked,
        tools: { ...use, ...tools },
        sampling: { ...plainSampling, tokensMax: 300, ...sampling },
      };
      let text = '';
      let end = {};
      for await (const event of opened.engine.generate(request, new AbortController().signal)) {
        if (event.kind === 'text') text += event.text;
        if (event.kind === 'finished') end = { reason: event.finishReason, stopText: event.stopText };
      }
      return { text, end };
    };
  };
  const call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Wuhan"}}\n</tool_call>';

  it('gives a valid call where one is required, whatever is drawn and whatever stop strings say', async () => {
    const ask = open('I would rather talk.');
    for (const [seed, temperature] of [0, 0.7, 1.5].entries()) {
      const { text, end } = await ask('q', {}, { temperature, seed, stop: ['\n', '"', '}'] });
      expect(text).toMatch(callForm);
      expect(end).toEqual({ reason: 'stop', stopText: undefined });
    }
    expect((await ask('scripted', {})).text).toMatch(callForm);
  });

  it('leaves the choice to the model otherwise: its text, stop strings and all, or its call', async () => {
    const talk = open('It is sunny. Or so.');
    expect((await talk('scripted', { isRequired: false })).text).toBe('It is sunny. Or so.');
    expect(await talk('scripted', { isRequired: false }, { stop: ['.'] })).toEqual({
      text: 'It is sunny',
      end: { reason: 'stop', stopText: '.' },
    });
    await toy?.engine.close(new Error('another script'));
    const calls = open(`Let me see.\n${call}`);
    const stopped = await calls('scripted', { isRequired: false }, { stop: ['}', 'city'] });
    expect(stopped).toEqual({ text: `Let me see.\n${call}`, end: { reason: 'stop', stopText: undefined } });
    expect((await calls('scripted', { isRequired: false, callable: [] })).text).not.toContain('<tool_call>');
  });

  it('refuses what is far too long before it is tokenised, wherever it stands', async () => {
    const ask = open('');
    const long = 'x'.repeat(1_000_000);
    const parameters = { type: 'object', properties: { a: { type: 'string', description: long } } };
    const refusal = { code: 'CONTEXT_LENGTH_EXCEEDED', message: expect.stringContaining('at least') };
    await expect(ask('q', { tools: [{ name: 'weather', parameters, strict: true }] })).rejects.toMatchObject(refusal);
    const toolCalls = [{ id: 'c', name: 'weather', arguments: long }];
    const messages = [{ role: 'assistant', content: '', toolCalls }] as const;
    const request = {
      requestId: 'r',
      model: 'default',
      messages,
      priority: 'normal',
      sampling: { ...plainSampling, tokensMax: 9 },
    } as const;
    const events = toy?.engine.generate(request, new AbortController().signal);
    await expect(events?.[Symbol.asyncIterator]().next()).rejects.toMatchObject(refusal);
  });

  it('refuses a tool whose schema it cannot keep, before the request waits', async () => {
    const tools = [{ name: 'f', parameters: { type: 'object', minProperties: 2 }, strict: true }];
    await expect(open('')('q', { tools, callable: ['f'] })).rejects.toMatchObject({
      code: 'CONSTRAINT_NOT_SUPPORTED',
      data: { tool: 'f' },
    });
  });
});
