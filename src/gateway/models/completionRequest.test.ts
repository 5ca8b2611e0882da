import { expect, it } from 'vitest';
import { gatewayOptions } from '../options.js';
import { completionRequest } from './completionRequest.js';

const limits = gatewayOptions.parse({});
const ask = (prompts: number, n: number) =>
  completionRequest({ model: 'default', prompt: Array.from({ length: prompts }, () => 'x'), n }, limits);

it('refuses more answers than ever fit into a queue as a bad request, which nobody tries again', () => {
  expect(ask(8, 16)).toMatchObject({ choices: 16 });
  expect(() => ask(64, 16)).toThrow(expect.objectContaining({ code: 'PARAMETER_BAD', data: { param: 'n', max: 128 } }));
});
