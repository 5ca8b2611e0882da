import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AnswerText } from './AnswerText.js';

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Feeds bytes in pieces; the shown parts, and whether a stop string ended it. */
function feed(
  bytes: Uint8Array,
  cuts: readonly number[],
  stops: readonly string[],
  stopsBefore?: string,
): { readonly shown: readonly string[]; readonly stopped: boolean } {
  const answer = new AnswerText(stops, stopsBefore);
  const shown: string[] = [];
  const borders = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].sort((left, right) => left - right);
  for (let piece = 1; piece < borders.length; piece++) {
    const { text, stop } = answer.push(bytes.subarray(borders[piece - 1], borders[piece]));
    shown.push(text);
    if (stop !== undefined) return { shown, stopped: true };
  }
  return { shown: [...shown, answer.finish()], stopped: false };
}

/** The stop string that completes first cuts the text; of those that complete together the longest. */
function expectedText(text: string, stops: readonly string[]): string {
  for (let end = 1; end <= text.length; end++) {
    const ending = stops.filter((stop) => text.slice(0, end).endsWith(stop)).sort((left, right) => right.length - left.length)[0];
    if (ending !== undefined) return text.slice(0, end - ending.length);
  }
  return text;
}

describe('AnswerText holds stop strings back across token and UTF-8 borders (R22)', () => {
  it('never shows a part of a stop string, however the text falls into tokens', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🙂', '東'), maxLength: 24 });
    const stop = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '🙂', '東'), minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(letters, fc.array(stop, { maxLength: 3 }), fc.array(fc.nat(), { maxLength: 12 }), (text, stops, cuts) => {
        const expected = expectedText(text, stops);
        const { shown, stopped } = feed(encode(text), cuts, stops);
        expect(shown.join('')).toBe(expected);
        expect(stopped).toBe(expected !== text || stops.some((one) => text.endsWith(one) && expected === text));
      }),
      { numRuns: 500 },
    );
  });

  it('shows text as soon as it cannot become a stop string', () => {
    const answer = new AnswerText(['\nUser:']);
    expect(answer.push(encode('Hello\n')).text).toBe('Hello');
    expect(answer.push(encode('Us')).text).toBe('');
    expect(answer.push(encode('ual')).text).toBe('\nUsual');
    expect(answer.push(encode(' text\nUser: x'))).toEqual({ text: ' text', stop: '\nUser:' });
  });

  it('takes no stop string in what follows a mark, however mark and text fall into tokens', () => {
    const text = 'a b<call>a\nb\n';
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 12 }), fc.constantFrom('\n', 'l>a', 'b\n'), (cuts, stop) => {
        expect(feed(encode(text), cuts, [stop], '<call>').shown.join('')).toBe(text);
        expect(feed(encode(text), cuts, ['b<'], '<call>')).toMatchObject({ stopped: true });
      }),
    );
    expect(feed(encode('a\nb<call>'), [], ['\n'], '<call>').shown.join('')).toBe('a');
  });

  it('holds an unfinished character, drops it at the end, and replaces a byte that begins none', () => {
    const answer = new AnswerText([]);
    const [first, second, third, fourth] = encode('🙂');
    expect(answer.push(Uint8Array.of(first as number, second as number)).text).toBe('');
    expect(answer.push(Uint8Array.of(third as number, fourth as number, 0x61)).text).toBe('🙂a');
    expect(answer.push(Uint8Array.of(0xff, 0x62)).text).toBe('\ufffdb');
    expect(answer.push(Uint8Array.of(first as number)).text).toBe('');
    expect(answer.finish()).toBe('');
  });
});
