import { describe, expect, it } from 'vitest';
import { announceStop } from './announceStop.js';

describe('announceStop', () => {
  const announced = (isJson: boolean) => {
    const stopping = new AbortController();
    const lines: string[] = [];
    return { stopping, lines, ...announceStop({ stopping: stopping.signal, isJson, write: (line) => lines.push(line) }) };
  };

  it('says once that it stops, at once, and then that it has', () => {
    const { stopping, lines, stopped } = announced(false);
    stopping.abort();
    stopping.abort();
    expect(lines).toEqual(['stopping…']);
    stopped();
    expect(lines).toEqual(['stopping…', 'stopped']);
  });

  it('says nothing to programs, and nothing where nobody asked it to stop', () => {
    const program = announced(true);
    program.stopping.abort();
    program.stopped();
    const failed = announced(false);
    failed.stopped();
    expect([program.lines, failed.lines]).toEqual([[], []]);
  });
});
