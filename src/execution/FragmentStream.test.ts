import { beforeEach, describe, expect, it } from 'vitest';
import { settle } from '../../test/support/ManualClock.js';
import { FragmentStream } from './FragmentStream.js';
import type { FragmentFrame } from './fragmentWire.js';
import { MemoryAccount } from './MemoryAccount.js';
import { MemoryLimit } from './MemoryLimit.js';
import { QueryMemory } from './QueryMemory.js';

describe('FragmentStream', () => {
  let limit: MemoryLimit;
  let memory: MemoryAccount;
  let sent: number;
  let hasEnded: boolean;
  let failures: unknown[];
  beforeEach(() => {
    limit = new MemoryLimit(1000, new QueryMemory(10_000));
    memory = new MemoryAccount(limit);
    sent = 0;
    hasEnded = false;
    failures = [];
  });
  async function* endless(bytes: number): AsyncGenerator<FragmentFrame> {
    try {
      while (true) yield { kind: 'block', rows: [[sent++]], bytes };
    } finally {
      hasEnded = true;
    }
  }
  const open = (bytes: number): FragmentStream =>
    new FragmentStream({
      frames: endless(bytes),
      blocksQueuedMax: 4,
      memory,
      onFrame: () => undefined,
      onError: (error) => failures.push(error),
    });

  it('that nobody reads on ends its source when it is closed, also while it waits for room', async () => {
    const stream = open(1);
    await settle();
    expect([sent, hasEnded]).toEqual([4, false]);
    stream.close();
    await settle();
    expect([sent, hasEnded]).toEqual([4, true]);
  });

  it('counts what waits to the memory limit, and nothing once it is closed', async () => {
    const stream = open(10);
    await settle();
    expect(limit.usedBytes).toBe(40);
    const rows = stream.rows();
    expect(await rows.next()).toEqual({ done: false, value: [[0]] });
    await settle();
    expect([sent, limit.usedBytes]).toEqual([5, 40]);
    expect(await rows.next()).toEqual({ done: false, value: [[1]] });
    await settle();
    expect([sent, limit.usedBytes]).toEqual([6, 40]);
    stream.close();
    memory.close();
    expect(limit.usedBytes).toBe(0);
  });

  it('reads nothing ahead while memory is short, and goes on with every block that is read', async () => {
    memory.holdBytes(600);
    const stream = open(300);
    await settle();
    expect([sent, limit.usedBytes]).toEqual([1, 900]);
    const rows = stream.rows();
    for (let i = 0; i < 5; i++) {
      expect(await rows.next()).toEqual({ done: false, value: [[i]] });
      await settle();
      expect([sent, limit.usedBytes]).toEqual([i + 1, 600]);
    }
    memory.release(600);
    expect(await rows.next()).toEqual({ done: false, value: [[5]] });
    await settle();
    expect([sent, limit.usedBytes]).toEqual([8, 600]);
    expect(failures).toEqual([]);
  });

  it('fails, and says so at once, when a block has no room at all', async () => {
    const stream = open(1001);
    await settle();
    expect(failures).toEqual([expect.objectContaining({ code: 'QUERY_MEMORY_LIMIT' })]);
    await expect(stream.rows().next()).rejects.toMatchObject({ code: 'QUERY_MEMORY_LIMIT' });
  });
});
