import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type EngineHold, planRoom } from './planRoom.js';

const hold = (name: string, bytes: number, given: Partial<EngineHold> = {}): EngineHold => ({
  name,
  bytes,
  isBusy: false,
  lastUsedMs: 0,
  ...given,
});

describe('planRoom (R18)', () => {
  it('unloads nothing where there is room, then the least recently used first and no more than are needed', () => {
    const holds = [hold('new', 10, { lastUsedMs: 3 }), hold('old', 10, { lastUsedMs: 1 }), hold('middle', 10, { lastUsedMs: 2 })];
    expect(planRoom({ neededBytes: 5, roomBytes: 5, holds })).toEqual({ kind: 'room', unload: [] });
    expect(planRoom({ neededBytes: 12, roomBytes: 5, holds })).toEqual({ kind: 'room', unload: ['old'] });
    expect(planRoom({ neededBytes: 20, roomBytes: 5, holds })).toEqual({ kind: 'room', unload: ['old', 'middle'] });
    expect(planRoom({ neededBytes: 36, roomBytes: 5, holds })).toEqual({ kind: 'tooLarge' });
  });

  it('never unloads what is in use, makes room or nothing, and tells apart what waiting would help', () => {
    const holds = fc.array(
      fc.record({ bytes: fc.nat(100), isBusy: fc.boolean(), lastUsedMs: fc.nat(50) }).map((one) => ({ ...one, name: '' })),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(fc.nat(200), fc.integer({ min: -50, max: 100 }), holds, (neededBytes, roomBytes, unnamed) => {
        const named = unnamed.map((one, index) => ({ ...one, name: String(index) }));
        const sum = (some: readonly EngineHold[]): number => some.reduce((total, { bytes }) => total + bytes, 0);
        const plan = planRoom({ neededBytes, roomBytes, holds: named });
        const idle = named.filter(({ isBusy }) => !isBusy);
        if (plan.kind === 'room') {
          const gone = plan.unload.map((name) => named[Number(name)] as EngineHold);
          expect(gone.some(({ isBusy }) => isBusy)).toBe(false);
          expect(roomBytes + sum(gone)).toBeGreaterThanOrEqual(neededBytes);
          expect(gone.length === 0 || roomBytes + sum(gone.slice(0, -1)) < neededBytes).toBe(true);
          const kept = idle.filter(({ name }) => !plan.unload.includes(name));
          expect(kept.every(({ lastUsedMs }) => gone.every((one) => one.lastUsedMs <= lastUsedMs))).toBe(true);
        } else {
          expect(roomBytes + sum(idle)).toBeLessThan(neededBytes);
          expect(plan.kind).toBe(roomBytes + sum(named) >= neededBytes ? 'busy' : 'tooLarge');
        }
      }),
    );
  });
});
