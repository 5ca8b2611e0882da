import { describe, expect, it } from 'vitest';
import { FairShares } from './FairShares.js';

describe('FairShares', () => {
  it('lifts an owner that comes back to the least of those that wait: nothing is saved up', () => {
    const shares = new FairShares({ ownersMax: 8 });
    shares.charge('busy', 1000);
    shares.charge('busier', 3000);
    shares.enter('new', ['busy', 'busier']);
    expect(shares.servedBy('new')).toBe(1000);
  });

  it('keeps what an owner has had when it comes back at once: nothing is forgiven', () => {
    const shares = new FairShares({ ownersMax: 8 });
    shares.charge('greedy', 5000);
    shares.enter('greedy', ['other']);
    expect(shares.servedBy('greedy')).toBe(5000);
  });

  it('remembers a bounded number of owners', () => {
    const shares = new FairShares({ ownersMax: 2 });
    shares.charge('a', 10);
    shares.charge('b', 20);
    shares.charge('c', 30);
    expect(['a', 'b', 'c'].map((owner) => shares.servedBy(owner))).toEqual([0, 20, 30]);
  });
});
