import { expect, it } from 'vitest';
import { FragmentStream } from './FragmentStream.js';
import type { FragmentFrame } from './fragmentWire.js';

it('a stream that nobody reads on ends its source when it is closed, also while it waits for room', async () => {
  let hasEnded: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    hasEnded = resolve;
  });
  async function* endless(): AsyncGenerator<FragmentFrame> {
    try {
      while (true) yield { kind: 'block', rows: [[0]] } as FragmentFrame;
    } finally {
      hasEnded();
    }
  }
  const ignore = (): void => undefined;
  const stream = new FragmentStream({ frames: endless(), blocksQueuedMax: 4, onFrame: ignore, onError: ignore });
  await Promise.resolve();
  stream.close();
  await expect(ended).resolves.toBeUndefined();
});
