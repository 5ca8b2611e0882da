import type { StepPacer } from '../index.js';

/** Yields to the event loop between two steps: what a step emitted is sent, and aborts are read, before the next one blocks. */
export class NodeStepPacer implements StepPacer {
  after(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}
