import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planReserve } from './planReserve.js';

const mib = 1024 * 1024;
const at = { reserveBytes: 16 * mib, isHeld: false, isFull: false, diskFreeBytes: 0, storeFreeBytes: 0 };

describe('planReserve', () => {
  it('holds the ballast while the disk has room, and gives it up when the disk has none', () => {
    expect(planReserve({ ...at, diskFreeBytes: 100 * mib })).toEqual({ ballast: 'write', isFull: false });
    expect(planReserve({ ...at, isHeld: true, diskFreeBytes: 2 * mib })).toEqual({ ballast: 'keep', isFull: false });
    expect(planReserve({ ...at, isHeld: true, diskFreeBytes: 4096 })).toEqual({ ballast: 'release', isFull: true });
  });

  it('stays full on the room that the ballast gave back, until removals have freed as much again', () => {
    const full = { ...at, isFull: true, diskFreeBytes: 16 * mib };
    expect(planReserve(full).isFull).toBe(true);
    expect(planReserve({ ...full, storeFreeBytes: 15 * mib }).isFull).toBe(true);
    expect(planReserve({ ...full, storeFreeBytes: 16 * mib })).toEqual({ ballast: 'keep', isFull: false });
  });

  it('never lets ordinary writes below the reserve, whoever took the room', () => {
    const bytes = fc.nat(100 * mib);
    fc.assert(
      fc.property(bytes, bytes, bytes, fc.boolean(), (reserveBytes, diskFreeBytes, storeFreeBytes, isFull) => {
        const plan = planReserve({ reserveBytes, isHeld: false, isFull, diskFreeBytes, storeFreeBytes });
        if (!plan.isFull) expect(diskFreeBytes + storeFreeBytes).toBeGreaterThanOrEqual(reserveBytes);
        if (plan.ballast === 'write') expect(diskFreeBytes).toBeGreaterThan(2 * reserveBytes);
      }),
    );
  });

  it('without a reserve only the disk refuses', () => {
    for (const isFull of [true, false]) expect(planReserve({ ...at, reserveBytes: 0, isFull })).toEqual({ ballast: 'keep', isFull: false });
  });
});
