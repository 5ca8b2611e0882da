import { describe, expect, it } from 'vitest';
import { ToyStepBackend } from '../../sim/engine/index.js';
import { type GenerateRequest, plainSampling } from '../platform/index.js';
import { PromptEncoder } from './PromptEncoder.js';

const clock = { nowMs: () => 0 };
const request: GenerateRequest = {
  requestId: 'r',
  model: 'default',
  messages: [{ role: 'user', content: 'hello' }],
  sampling: { ...plainSampling, tokensMax: 4 },
  priority: 'normal',
};

/** A toy with another template, which counts what it is given to tokenise. */
class CountingBackend extends ToyStepBackend {
  override readonly facts: ToyStepBackend['facts'];
  characters = 0;

  constructor(chatTemplate: string) {
    super({ sequences: 1, contextTokens: 64, script: [] });
    this.facts = { ...new ToyStepBackend({ sequences: 1, contextTokens: 64, script: [] }).facts, chatTemplate };
  }

  override tokenize(text: string, options: { readonly parseSpecial: boolean }): Int32Array {
    this.characters += text.length;
    return super.tokenize(text, options);
  }
}

describe('the prompt of a chat whose template comes from anywhere (R22)', () => {
  it.each([
    ['a message over and over', '{% for i in range(5000) %}{{ messages[0].content }}{% endfor %}', 'hello'],
    ['a message of one character over and over', '{% for i in range(5000) %}{{ messages[0].content }}{% endfor %}', 'h'],
    ['a text of its own over and over', `{% for i in range(5000) %}${'x'.repeat(100)}{% endfor %}`, 'hello'],
  ])('is refused for its length before it is tokenised, where the template writes %s', (_, template, content) => {
    const backend = new CountingBackend(template);
    expect(() => new PromptEncoder(backend, clock).encode({ ...request, messages: [{ role: 'user', content }] })).toThrow(
      expect.objectContaining({ code: 'CONTEXT_LENGTH_EXCEEDED' }),
    );
    expect(backend.characters).toBe(0);
  });

  it('is refused where nothing is written, and a plain prompt is taken all the same', () => {
    for (const template of ['{{ "" }}', '{% if false %}x{% endif %}', '{{ raise_exception("never") }}']) {
      const encoder = new PromptEncoder(new CountingBackend(template), clock);
      expect(() => encoder.encode(request)).toThrow(expect.objectContaining({ code: 'CHAT_REFUSED' }));
      expect(encoder.encode({ ...request, messages: [], prompt: 'hello' })).toHaveLength(5);
    }
    const encoder = new PromptEncoder(new CountingBackend(''), clock);
    expect(() => encoder.encode({ ...request, messages: [{ role: 'user', content: '' }] })).toThrow(
      expect.objectContaining({ code: 'CHAT_REFUSED' }),
    );
  });
});
