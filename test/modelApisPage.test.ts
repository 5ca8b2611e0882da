import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { gatewayOptions, gatewayRoutes } from '../src/gateway/index.js';

const page = readFileSync('docs/reference/openai.md', 'utf8');

it('the page on the model APIs names every path of theirs', () => {
  const routes = gatewayRoutes({ options: gatewayOptions.parse({}) } as never).filter(({ style }) => style !== 'arango');
  expect(routes.length).toBeGreaterThan(10);
  expect(routes.filter(({ method, pattern }) => !page.includes(`\`${method} ${pattern}\``)).map(({ pattern }) => pattern)).toEqual([]);
});

it('the page on the model APIs tells the limits as they are', () => {
  const defaults = gatewayOptions.parse({}) as { readonly [option: string]: number };
  const told = [...page.matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm)].map(([, option, value]) => [option, Number(value?.replaceAll(',', ''))]);
  expect(told.length).toBeGreaterThan(10);
  expect(told).toEqual(told.map(([option]) => [option, defaults[option as string]]));
});
