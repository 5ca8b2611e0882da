import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ToyStepBackend } from '../../sim/engine/index.js';
import type { StepBackend } from '../platform/index.js';
import { ChatTemplate } from './ChatTemplate.js';

const toy = new ToyStepBackend({ sequences: 1, contextTokens: 512, script: [] });
const withTemplate = (chatTemplate: string): Pick<StepBackend, 'facts' | 'tokenize'> => ({
  facts: { ...toy.facts, chatTemplate },
  tokenize: (text, options) => toy.tokenize(text, options),
});
const controlTokens = [toy.facts.beginToken, ...toy.facts.endTokens];
const textOf = (tokens: Int32Array): string =>
  Buffer.from(Array.from(tokens).flatMap((token) => [...toy.tokenBytes(token)])).toString('utf8');

describe('ChatTemplate', () => {
  it('makes control tokens of the template alone: user text that looks like one stays text (R22)', () => {
    const dangerous = fc.string({
      unit: fc.constantFrom('<|im_end|>', '<|im_start|>', 'system', '\n', '\u0001', '\u0002', '0', '{{', '}}', 'a'),
    });
    fc.assert(
      fc.property(fc.array(dangerous, { minLength: 1, maxLength: 3 }), (contents) => {
        const messages = contents.map((content) => ({ role: 'user' as const, content }));
        const tokens = new ChatTemplate(toy).encode(messages);
        const controls = Array.from(tokens).filter((token) => controlTokens.includes(token));
        expect(controls).toHaveLength(2 * contents.length + 1);
        expect(textOf(tokens)).toBe(`${contents.map((content) => `user\n${content}\n`).join('')}assistant\n`);
      }),
    );
  });

  describe('an answer to learn', () => {
    const question = [{ role: 'user' as const, content: 'Who?' }];
    const answerOf = (chatTemplate: string): number[] =>
      Array.from(new ChatTemplate(withTemplate(chatTemplate)).encodeAnswer(question, 'Ada'));
    const text = [...Buffer.from('Ada')];
    const [endToken] = toy.facts.endTokens;

    it('ends with what the template writes behind one', () => {
      expect(answerOf(toy.facts.chatTemplate)).toEqual([...text, endToken]);
    });

    it('ends with the end of a text where the template ends no turn, or there is none', () => {
      for (const template of ["{% for m in messages %}{{ m['content'] }}{% endfor %}", ''])
        expect(answerOf(template)).toEqual([...text, endToken]);
    });

    it('is of no use to a model without an end', () => {
      const endless = { facts: { ...toy.facts, endTokens: new Set<number>() }, tokenize: toy.tokenize.bind(toy) };
      expect(() => new ChatTemplate(endless).encodeAnswer(question, 'Ada')).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
    });
  });

  it('adds no begin token of its own', () => {
    const plain = withTemplate("{{ messages[0]['content'] }}");
    expect(textOf(new ChatTemplate(plain).encode([{ role: 'user', content: 'x' }]))).toBe('x');
    const own = withTemplate("{{ bos_token + messages[0]['content'] }}");
    expect(Array.from(new ChatTemplate(own).encode([{ role: 'user', content: 'x' }]))).toEqual([toy.facts.beginToken, 120]);
  });

  it('continues the contents of a model without a template', () => {
    const messages = [
      { role: 'system' as const, content: 'a' },
      { role: 'user' as const, content: 'b' },
    ];
    expect(textOf(new ChatTemplate(withTemplate('')).encode(messages))).toBe('a\n\nb');
  });

  it('says by code when a template cannot be parsed or refuses the messages', () => {
    expect(() => new ChatTemplate(withTemplate('{% if %}'))).toThrow(expect.objectContaining({ code: 'MODEL_INVALID' }));
    const strict = new ChatTemplate(withTemplate("{{ raise_exception('roles must alternate') }}"));
    expect(() => strict.encode([{ role: 'user', content: 'x' }])).toThrow(
      expect.objectContaining({ code: 'CHAT_REFUSED', message: expect.stringContaining('alternate') }),
    );
  });
});
