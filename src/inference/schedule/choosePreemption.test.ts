import { describe, expect, it } from 'vitest';
import { choosePreemption } from './choosePreemption.js';

const options = { sequenceTurnMs: 1000, sequenceTurnTokensMin: 4, kvHeadroomPages: 10 };
const one = (admission: number, priority: 'low' | 'normal' | 'high' = 'normal', admittedMs = 0) => ({
  admission,
  priority,
  admittedMs,
  turnTokens: 4,
  rows: 50,
});
const waits = (priority: 'low' | 'normal' | 'high', waitingSinceMs: number) => ({ priority, waitingSinceMs });
const full = { hasFreeSequence: false, freePages: 100, canKeep: () => true, nowMs: 2000 };

describe('choosePreemption (R19, R20)', () => {
  it('lets everyone go on while there are pages and nobody waits, or a sequence is free', () => {
    expect(choosePreemption({ ...full, running: [one(0), one(1)], next: undefined }, options)).toBeUndefined();
    expect(choosePreemption({ ...full, hasFreeSequence: true, running: [one(0)], next: waits('high', 0) }, options)).toBeUndefined();
  });

  it('takes the youngest of the lowest priority below the headroom, but never the only one', () => {
    const running = [one(0, 'low'), one(1, 'low'), one(2, 'high'), one(3)];
    expect(choosePreemption({ ...full, freePages: 9, running, next: undefined }, options)).toBe(running[1]);
    expect(choosePreemption({ ...full, freePages: 0, running: [one(0)], next: undefined }, options)).toBeUndefined();
  });

  it('takes the youngest of the lowest priority for a higher one at once', () => {
    const running = [one(0, 'normal', 1999), one(1, 'normal', 1999), one(2, 'high', 1999)];
    expect(choosePreemption({ ...full, running, next: waits('high', 1999) }, options)).toBe(running[1]);
    expect(choosePreemption({ ...full, running, next: waits('low', 1999) }, options)).toBeUndefined();
  });

  it('gives equals their turn: who held longest goes once both have had theirs', () => {
    const running = [one(1, 'normal', 900), one(0, 'normal', 500), one(2, 'normal', 1500)];
    expect(choosePreemption({ ...full, running, next: waits('normal', 900) }, options)).toBe(running[1]);
    expect(choosePreemption({ ...full, running, next: waits('normal', 1100) }, options)).toBeUndefined();
    expect(choosePreemption({ ...full, nowMs: 1400, running, next: waits('normal', 0) }, options)).toBeUndefined();
    expect(choosePreemption({ ...full, running, next: waits('low', 0) }, options)).toBeUndefined();
  });

  it('moves nobody for a turn that has not got on since it came, or whose rows would be lost', () => {
    const running = [{ ...one(0), turnTokens: 3 }, one(1)];
    expect(choosePreemption({ ...full, running, next: waits('normal', 0) }, options)).toBe(running[1]);
    expect(choosePreemption({ ...full, canKeep: () => false, running, next: waits('normal', 0) }, options)).toBeUndefined();
    expect(choosePreemption({ ...full, canKeep: () => false, running, next: waits('high', 0) }, options)).toBe(running[1]);
  });
});
