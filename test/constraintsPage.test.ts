import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { formatPatterns } from '../src/inference/grammar/formatPatterns.js';
import { grammarOptions } from '../src/inference/grammar/options.js';
import { annotations, schemaKeywords } from '../src/inference/grammar/schemaKeywords.js';

it('the page on constraints names every keyword, format and option that there is', () => {
  const page = readFileSync('docs/reference/constraints.md', 'utf8');
  const names = [...schemaKeywords.keys(), ...annotations, ...formatPatterns.keys(), ...Object.keys(grammarOptions.shape)];
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
