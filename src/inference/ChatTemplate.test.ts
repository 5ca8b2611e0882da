import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToyStepBackend } from '../../sim/engine/index.js';
import type { ChatMessage, StepBackend } from '../platform/index.js';
import { ChatTemplate } from './ChatTemplate.js';

const toy = new ToyStepBackend({ sequences: 1, contextTokens: 512, script: [] });
const withTemplate = (chatTemplate: string): Pick<StepBackend, 'facts' | 'tokenize'> => ({
  facts: { ...toy.facts, chatTemplate },
  tokenize: (text, options) => toy.tokenize(text, options),
});
const clock = { nowMs: () => Date.UTC(2026, 6, 4, 9, 5) };
const controlTokens = [toy.facts.beginToken, ...toy.facts.endTokens];
const textOf = (tokens: Int32Array): string =>
  Buffer.from(Array.from(tokens).flatMap((token) => [...toy.tokenBytes(token)])).toString('utf8');

describe('ChatTemplate', () => {
  it('makes control tokens of the template alone: user text that looks like one stays text (R22)', () => {
    const dangerous = fc.string({
      unit: fc.constantFrom('<|im_end|>', '<|im_start|>', 'system', '\n', '\ue000', '\ue001', '0', '{{', '}}', 'a'),
    });
    fc.assert(
      fc.property(fc.array(dangerous, { minLength: 1, maxLength: 3 }), (contents) => {
        const messages = contents.map((content) => ({ role: 'user' as const, content }));
        const tokens = new ChatTemplate(toy, clock).encode(messages);
        const controls = Array.from(tokens).filter((token) => controlTokens.includes(token));
        expect(controls).toHaveLength(2 * contents.length + 1);
        expect(textOf(tokens)).toBe(`${contents.map((content) => `user\n${content}\n`).join('')}assistant\n`);
      }),
    );
  });

  describe('an answer to learn', () => {
    const question = [{ role: 'user' as const, content: 'Who?' }];
    const answerOf = (chatTemplate: string): number[] =>
      Array.from(new ChatTemplate(withTemplate(chatTemplate), clock).encodeAnswer(question, 'Ada'));
    const text = [...Buffer.from('Ada')];
    const [endToken] = toy.facts.endTokens;

    it('ends with what the template writes behind one', () => {
      expect(answerOf(toy.facts.chatTemplate)).toEqual([...text, endToken]);
    });

    it('ends with the end of a text where the template ends no turn, or there is none', () => {
      const written = [
        "{% for m in messages %}{{ m['content'] }}{% endfor %}",
        "{% for m in messages %}{{ eos_token + m['role'] + m['content'] }}{% endfor %}",
      ];
      for (const template of [...written, '']) expect(answerOf(template)).toEqual([...text, endToken]);
    });

    it('is of no use to a model without an end', () => {
      const endless = { facts: { ...toy.facts, endTokens: new Set<number>() }, tokenize: toy.tokenize.bind(toy) };
      expect(() => new ChatTemplate(endless, clock).encodeAnswer(question, 'Ada')).toThrow(
        expect.objectContaining({ code: 'MODEL_INVALID' }),
      );
    });
  });

  it('adds no begin token of its own', () => {
    const plain = withTemplate("{{ messages[0]['content'] }}");
    expect(textOf(new ChatTemplate(plain, clock).encode([{ role: 'user', content: 'x' }]))).toBe('x');
    const own = withTemplate("{{ bos_token + messages[0]['content'] }}");
    expect(Array.from(new ChatTemplate(own, clock).encode([{ role: 'user', content: 'x' }]))).toEqual([toy.facts.beginToken, 120]);
  });

  it('continues the contents of a model without a template', () => {
    const messages = [
      { role: 'system' as const, content: 'a' },
      { role: 'user' as const, content: 'b' },
    ];
    expect(textOf(new ChatTemplate(withTemplate(''), clock).encode(messages))).toBe('a\n\nb');
  });

  it('is not led astray by a template that writes or changes what stands for a text', () => {
    const textBy = (template: string) =>
      textOf(new ChatTemplate(withTemplate(template), clock).encode([{ role: 'user', content: '<|im_end|>' }]));
    expect(textBy('a{{ "\ue00099\ue001" }}b')).toBe('ab');
    expect(textBy('a{{ messages[0].content | replace("0", "77") }}b')).toBe('ab');
    expect(textBy('a{{ messages[0].content[:1] }}b')).toBe('a\ue000b');
    expect(textBy('a{{ "\ue000" ~ 0 ~ "\ue001" }}b')).toBe('a<|im_end|>b');
    expect(textBy('a{{ messages[0].content | upper | trim }}{{ messages[0].content }}b')).toBe('a<|im_end|><|im_end|>b');
  });

  it('tells the reason of a template in its first words alone', () => {
    const loud = new ChatTemplate(withTemplate(`{{ raise_exception("${'no '.repeat(9000)}") }}`), clock);
    const [error] = [() => loud.encode([{ role: 'user', content: 'x' }])].map((run) => {
      try {
        return run();
      } catch (thrown) {
        return thrown as Error;
      }
    });
    expect((error as Error).message.length).toBeLessThan(600);
  });

  it('says by code when a template cannot be parsed or refuses the messages', () => {
    expect(() => new ChatTemplate(withTemplate('{% if %}'), clock)).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
    const strict = new ChatTemplate(withTemplate("{{ raise_exception('roles must alternate') }}"), clock);
    expect(() => strict.encode([{ role: 'user', content: 'x' }])).toThrow(
      expect.objectContaining({ code: 'CHAT_REFUSED', message: expect.stringContaining('alternate') }),
    );
  });
});

const weather = {
  name: 'get_weather',
  description: 'Tells the weather',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
};
const tools = [{ ...weather, strict: false }];
const history: readonly ChatMessage[] = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Rain?' },
  { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'get_weather', arguments: '{"city":"Wuhan"}' }] },
  { role: 'tool', content: 'dry', toolCallId: 'c1' },
  { role: 'tool', content: 'hot', toolCallId: 'c2' },
];
/** As Qwen's and Hermes' templates are made. */
const ownTemplate =
  "{% if tools %}{{ '<|im_start|>system\\n<tools>' }}{% for tool in tools %}{{ '\\n' + (tool | tojson) }}{% endfor %}{{ '\\n</tools><|im_end|>\\n' }}{% endif %}" +
  "{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' }}" +
  "{% if m.role == 'tool' %}{{ '<tool_response>\\n' + m.content + '\\n</tool_response>' }}{% else %}{{ m.content }}{% endif %}" +
  '{% for c in m.tool_calls or [] %}{{ \'<tool_call>\\n{"name": "\' + c.function.name + \'", "arguments": \' + (c.function.arguments | tojson) + \'}\\n</tool_call>\' }}{% endfor %}' +
  "{{ '<|im_end|>\\n' }}{% endfor %}{{ '<|im_start|>assistant\\n' }}";

describe('tools in a prompt (R22)', () => {
  it('are told in the system message where the template knows none, calls and results in plain messages', () => {
    const text = textOf(new ChatTemplate(toy, clock).encode(history, tools));
    expect(text.startsWith('system\nBe brief.\n\n# Tools')).toBe(true);
    expect(text).toContain(`<tools>\n${JSON.stringify({ type: 'function', function: weather })}\n</tools>`);
    expect(text).toContain('assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city":"Wuhan"}}\n</tool_call>\n');
    const results = '<tool_response>\ndry\n</tool_response>\n<tool_response>\nhot\n</tool_response>';
    expect(text.endsWith(`user\n${results}\nassistant\n`)).toBe(true);
    expect(textOf(new ChatTemplate(toy, clock).encode(history.slice(1, 2), tools)).startsWith('system\n# Tools')).toBe(true);
  });

  it('are given to a template that knows them', () => {
    const text = textOf(new ChatTemplate(withTemplate(ownTemplate), clock).encode(history, tools));
    expect(text).toContain('<tools>\n{"type": "function", "function": {"name": "get_weather", "description": "Tells the weather"');
    expect(text).not.toContain('# Tools');
    expect(text).toContain('assistant\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Wuhan"}}\n</tool_call>\n');
    expect(text).toContain('tool\n<tool_response>\ndry\n</tool_response>\n');
  });

  it.each([
    ['the preamble of its own', toy],
    ['the template of the model', withTemplate(ownTemplate)],
  ])('nothing from outside becomes a control token, a call or a result: %s', (_, backend) => {
    const unit = fc.constantFrom(
      '<|im_end|>',
      '<|im_start|>',
      '<tool_response>',
      '</tool_response>',
      '<tool_call>',
      '</tool_call>',
      '</tools>',
      '"',
      '\n',
      '\ue000',
      '\ue001',
      '0',
      'a',
    );
    const text = fc.string({ unit, maxLength: 4 });
    const countsOf = (tokens: Int32Array) => ({
      controls: Array.from(tokens).filter((token) => controlTokens.includes(token)).length,
      marks: [...textOf(tokens).matchAll(/<\/?(tool_call|tool_response|tools)>/g)].length,
    });
    const encode = (words: readonly [string, string, string, string, string]) => {
      const [user, result, argument, description, assistant] = words;
      const call = { id: user, name: 'f', arguments: JSON.stringify({ [argument]: argument }) };
      return new ChatTemplate(backend, clock).encode(
        [
          { role: 'user', content: user },
          { role: 'assistant', content: assistant, toolCalls: [call] },
          { role: 'tool', content: result, toolCallId: user },
        ],
        [{ name: 'f', description, parameters: { type: 'object', properties: { [argument]: { description } } }, strict: false }],
      );
    };
    const expected = countsOf(encode(['x', 'x', 'x', 'x', 'x']));
    fc.assert(
      fc.property(fc.tuple(text, text, text, text, text), (words) => {
        expect(countsOf(encode(words))).toEqual(expected);
      }),
    );
  });

  it('what is no JSON among the arguments of a client stays a text', () => {
    const messages: ChatMessage[] = [{ role: 'assistant', content: 'x', toolCalls: [{ id: 'c', name: 'f', arguments: '{"a":' }] }];
    for (const backend of [toy, withTemplate(ownTemplate)])
      expect(textOf(new ChatTemplate(backend, clock).encode(messages))).toContain('"arguments": "{\\"a\\":"}');
  });
});
