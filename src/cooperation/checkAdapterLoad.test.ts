import { expect, it } from 'vitest';
import { checkAdapterLoad } from './checkAdapterLoad.js';

const law = { domain: 'law', adapterDigest: 'a', scale: 1 };
const check =
  (domain: string, digest: string, scale: number, adaptersMax = 8) =>
  () =>
    checkAdapterLoad({ domain, digest, scale }, [law], adaptersMax);

it('allows the same once more, another domain of the same file, and another file of another domain', () => {
  for (const allowed of [check('law', 'a', 1), check('trade', 'a', 1), check('medicine', 'b', 1), check('law', 'a', 1, 1)])
    expect(allowed).not.toThrow();
});

it('refuses another file or scale under a domain that is served', () => {
  for (const refused of [check('law', 'b', 1), check('law', 'a', 0.5)])
    expect(refused).toThrowError(expect.objectContaining({ code: 'ADAPTER_DOMAIN_TAKEN' }));
});

it('refuses one more than the limit', () => {
  expect(check('medicine', 'b', 1, 1)).toThrowError(expect.objectContaining({ code: 'ADAPTERS_FULL' }));
});
