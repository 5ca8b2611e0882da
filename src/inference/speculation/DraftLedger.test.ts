import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DraftLedger } from './DraftLedger.js';

const options = { draftLossShareMax: 0.03, draftCreditMsMax: 500 };

it('stops after a loss until plain steps have earned it back', () => {
  const ledger = new DraftLedger(options);
  expect(ledger.allows).toBe(true);
  ledger.drafted(51, 11);
  expect(ledger.allows).toBe(false);
  for (let step = 0; step < 120; step++) ledger.plain(11);
  expect(ledger.allows).toBe(false);
  for (let step = 0; step < 5; step++) ledger.plain(11);
  expect(ledger.allows).toBe(true);
});

it('never loses more than the share of the time, the credit and one step', () => {
  const [plainMs, draftMs] = [11, 51];
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 200, maxLength: 2_000 }), (drawnTokens) => {
      const ledger = new DraftLedger(options);
      let [spentMs, tokens] = [0, 0];
      for (const drawn of drawnTokens) {
        const drafts = ledger.allows; // the worst caller: it always drafts
        if (drafts) ledger.drafted(draftMs, drawn * plainMs);
        else ledger.plain(plainMs);
        spentMs += drafts ? draftMs : plainMs;
        tokens += drafts ? drawn : 1;
      }
      expect(spentMs - tokens * plainMs).toBeLessThanOrEqual(0.03 * spentMs + 500 + draftMs);
    }),
  );
});
