import { getEventListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { onAbort } from './onAbort.js';
import { raceAbort } from './raceAbort.js';

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('onAbort', () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  beforeAll(() => process.on('warning', onWarning));
  afterAll(() => process.off('warning', onWarning));

  it('calls back in order, once, and at once when the signal has aborted', () => {
    const stop = new AbortController();
    const heard: string[] = [];
    for (const name of ['a', 'b', 'c']) onAbort(stop.signal, () => heard.push(name));
    onAbort(stop.signal, () => heard.push('taken back'))();
    stop.abort();
    expect(heard).toEqual(['a', 'b', 'c']);
    onAbort(stop.signal, () => heard.push('late'))();
    expect(heard).toEqual(['a', 'b', 'c', 'late']);
    expect(listenersOf(stop.signal)).toBe(0);
  });

  it('holds one function given twice twice, and takes a callback back also while the others run', () => {
    const stop = new AbortController();
    let calls = 0;
    const count = (): void => void calls++;
    onAbort(stop.signal, count);
    const second = onAbort(stop.signal, count);
    let third = (): void => undefined;
    onAbort(stop.signal, () => third());
    third = onAbort(stop.signal, count);
    second();
    second();
    stop.abort();
    expect(calls).toBe(1);
  });

  it('leaves no listener and no warning after 1,000 overlapping and 10,000 serial waits on one signal', async () => {
    const { signal } = new AbortController();
    const together = Promise.all(Array.from({ length: 1000 }, (_, i) => raceAbort(tick(), signal).then(() => i)));
    expect(listenersOf(signal)).toBe(1);
    expect(await together).toHaveLength(1000);
    expect(listenersOf(signal)).toBe(0);
    for (let i = 0; i < 10_000; i++) await raceAbort(Promise.resolve(i), signal);
    expect(listenersOf(signal)).toBe(0);
    await tick();
    expect(warnings).toEqual([]);
  });
});
