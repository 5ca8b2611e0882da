import { describe, expect, it } from 'vitest';
import { parseServed } from './parseServed.js';

describe('parseServed', () => {
  it.each([
    ['all-minilm-l6-v2', undefined, 'all-minilm-l6-v2'],
    ['second=all-minilm-l6-v2', 'second', 'all-minilm-l6-v2'],
    ['./models/a=b.gguf', undefined, './models/a=b.gguf'],
    ['x=./models/a=b.gguf', 'x', './models/a=b.gguf'],
  ])('%s names %s and %s', (text, name, model) => expect(parseServed(text)).toEqual({ name, model }));

  it.each(['', '=', 'x=', '=x'])('%j is refused', (text) => {
    expect(() => parseServed(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});
