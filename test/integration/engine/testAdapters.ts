import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const folder = 'sample/adapters';

/** Two LoRA adapters of the default chat model: those of the sample, or what OSTRAKA_TEST_ADAPTERS names, separated by commas. */
export function testAdapters(): readonly [string, string] {
  const named = process.env['OSTRAKA_TEST_ADAPTERS'];
  const paths = named === undefined ? sampleAdapters() : named.split(',');
  const [first, second] = paths;
  if (first === undefined || second === undefined) throw new Error(`two adapters are needed in ${folder}`);
  return [first, second];
}

const sampleAdapters = (): readonly string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith('.gguf'))
    .sort()
    .map((file) => join(folder, file));
