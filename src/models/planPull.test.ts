import { describe, expect, it } from 'vitest';
import { planPull } from './planPull.js';

describe('planPull', () => {
  const known = { digest: 'd', commit: 'c' };
  const plan = (given: Partial<Parameters<typeof planPull>[0]>) =>
    planPull({ known, isWhole: true, commit: 'c', offer: { digest: 'd', bytes: 1 }, overwrite: false, ...given });
  const silent = { digest: undefined, bytes: undefined };

  it('fetches what is not known, and keeps what is the same and whole, whatever the commit', () => {
    expect(plan({ known: undefined })).toBe('fetch');
    expect([plan({}), plan({ commit: 'e' })]).toEqual(['keep', 'keep']);
    expect(plan({ isWhole: false })).toBe('fetch');
  });

  it('refuses another digest, and takes it only when told to', () => {
    expect(plan({ offer: { digest: 'x', bytes: 1 } })).toBe('changed');
    expect(plan({ offer: { digest: 'x', bytes: 1 }, overwrite: true })).toBe('fetch');
  });

  it('goes by the commit where no digest is told: bytes of another one are fetched to be compared', () => {
    expect(plan({ offer: silent })).toBe('keep');
    expect(plan({ offer: silent, commit: 'e' })).toBe('fetch');
  });
});
