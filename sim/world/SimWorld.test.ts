import { describe, expect, it } from 'vitest';
import { SimProcess } from './SimProcess.js';
import { SimWorld } from './SimWorld.js';

const open = (seed = 1): SimWorld => new SimWorld({ seed, traceLinesKept: 10, onTraceLine: undefined });

describe('SimWorld', () => {
  it('runs events by time, those of one moment in the order they were made', async () => {
    const world = open();
    const ran: string[] = [];
    for (const [name, delayMs] of [
      ['c', 30],
      ['a', 10],
      ['b1', 20],
      ['b2', 20],
    ] as const)
      world.schedule({ delayMs, owner: undefined, run: () => void ran.push(`${name} ${world.nowMs}`) });
    await world.runUntil(25);
    expect([ran, world.nowMs]).toEqual([['a 10', 'b1 20', 'b2 20'], 25]);
    await world.runUntil(100);
    expect(ran.at(-1)).toBe('c 30');
  });

  it('lets every promise run before time moves', async () => {
    const world = open();
    const times: number[] = [];
    const chain = async (): Promise<void> => {
      for (let i = 0; i < 100; i++) await Promise.resolve();
      times.push(world.nowMs);
    };
    world.schedule({ delayMs: 1, owner: undefined, run: () => void chain() });
    world.schedule({ delayMs: 2, owner: undefined, run: () => void chain() });
    await world.runUntil(10);
    expect(times).toEqual([1, 2]);
  });

  it('holds the events of a paused process back and keeps their order, also when the pause is made longer', async () => {
    const world = open();
    const process = new SimProcess('shard');
    const ran: string[] = [];
    const at = (delayMs: number, name: string) =>
      world.schedule({ delayMs, owner: process, run: () => void ran.push(`${name} ${world.nowMs}`) });
    at(8, 'late timer made first');
    at(2, 'first frame');
    process.pauseUntil(5);
    await world.runUntil(3);
    process.pauseUntil(20);
    at(1, 'second frame');
    await world.runUntil(30);
    expect(ran).toEqual(['first frame 20', 'second frame 20', 'late timer made first 20']);
  });

  it('runs nothing of a dead process, and nothing that was cancelled', async () => {
    const world = open();
    const process = new SimProcess('shard');
    const ran: string[] = [];
    world.schedule({ delayMs: 2, owner: process, run: () => void ran.push('dead') });
    world.schedule({ delayMs: 2, owner: undefined, run: () => void ran.push('cancelled') }).cancel();
    process.kill();
    await world.runUntil(5);
    expect(ran).toEqual([]);
  });

  it('draws numbers by seed and label alone', () => {
    const [left, right, other] = [open(1).random, open(1).random, open(2).random];
    left.next();
    expect(left.fork('a').uint32()).toBe(right.fork('a').uint32());
    expect(left.fork('a').uint32()).not.toBe(left.fork('b').uint32());
    expect(left.fork('a').uint32()).not.toBe(other.fork('a').uint32());
  });
});
