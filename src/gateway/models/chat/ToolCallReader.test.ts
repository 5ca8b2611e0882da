import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toolCallForm } from '../../../platform/index.js';
import { type AnswerPart, ToolCallReader } from './ToolCallReader.js';

const { opening, beforeName, beforeArguments, afterArguments, between } = toolCallForm;
const callText = (name: string, json: string): string => opening + beforeName + name + beforeArguments + json + afterArguments;

/** Reads a text that comes in pieces, and joins what belongs together. */
function read(text: string, cuts: readonly number[], { isRequired = false, isEither = false } = {}) {
  const reader = new ToolCallReader({ isRequired, isEither });
  const borders = [...new Set([0, ...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort((left, right) => left - right);
  const parts: AnswerPart[] = [];
  for (let piece = 1; piece < borders.length; piece++) parts.push(...reader.push(text.slice(borders[piece - 1], borders[piece])));
  parts.push(...reader.finish());
  const ofCall = (index: number): string =>
    parts.flatMap((part) => (part.kind === 'arguments' && part.call === index ? [part.text] : [])).join('');
  return {
    text: parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join(''),
    calls: parts.flatMap((part) => (part.kind === 'call' ? [[part.name, ofCall(part.call)]] : [])),
    ended: parts.filter(({ kind }) => kind === 'callEnded').length,
    isWhole: reader.hasWholeCalls,
  };
}

const cutsOf = fc.array(fc.nat(), { maxLength: 20 });
const freeText = fc.string({ unit: fc.constantFrom('a', ' ', '\n', '<', '<tool_call', '{"name": "', '}', 'é'), maxLength: 8 });
const json = fc
  .dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));
const call = fc.tuple(fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/), json);

describe('the calls of an answer', () => {
  it('are the same however the answer falls into pieces, with the text before them', () => {
    fc.assert(
      fc.property(freeText, fc.array(call, { minLength: 1, maxLength: 3 }), cutsOf, (text, calls, cuts) => {
        const answer = text + calls.map(([name, args]) => callText(name, args)).join(between);
        expect(read(answer, cuts)).toEqual({ text: text.trimEnd(), calls, ended: calls.length, isWhole: true });
      }),
      { numRuns: 300 },
    );
  });

  it('are none in a text without an opening, of which nothing is lost', () => {
    fc.assert(
      fc.property(freeText, cutsOf, (text, cuts) => {
        fc.pre(!text.includes(opening));
        expect(read(text, cuts)).toEqual({ text, calls: [], ended: 0, isWhole: false });
      }),
      { numRuns: 300 },
    );
  });

  it('begin the answer or are none, where its text has a form: an opening in a string of JSON is text', () => {
    fc.assert(
      fc.property(json, fc.array(call, { minLength: 1, maxLength: 2 }), cutsOf, (value, calls, cuts) => {
        const text = `{"a":"${opening}\\n","b":${value}} `;
        expect(read(text, cuts, { isEither: true })).toEqual({ text, calls: [], ended: 0, isWhole: false });
        const answer = calls.map(([name, args]) => callText(name, args)).join(between);
        expect(read(answer, cuts, { isEither: true })).toMatchObject({ text: '', calls, isWhole: true });
      }),
      { numRuns: 200 },
    );
    expect(read('<to', [1], { isEither: true }).text).toBe('<to');
  });

  it('end where the answer was cut, and are not whole then', () => {
    const whole = callText('f', '{"a":"}\\""}');
    for (let length = 0; length < whole.length; length++) {
      const { text, calls, isWhole } = read(whole.slice(0, length), [3, 7], { isRequired: true });
      expect(text).toBe('');
      expect(isWhole).toBe(length >= whole.length - afterArguments.length);
      if (calls.length > 0) expect('{"a":"}\\""}'.startsWith(calls[0]?.[1] as string)).toBe(true);
    }
  });
});
