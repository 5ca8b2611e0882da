import { SimClock } from './SimClock.js';
import { SimProcess } from './SimProcess.js';
import { SimWorld } from './SimWorld.js';

const turnMs = 1;

/** A world whose time goes on by itself as soon as the test waits: for tests of single ports, which know nothing of virtual time. */
export class RunningWorld {
  readonly world = new SimWorld({ seed: 1, traceLinesKept: 10, onTraceLine: undefined });
  readonly clock = new SimClock({ world: this.world, process: new SimProcess('test') });

  #isStopped = false;

  constructor() {
    const turn = async (): Promise<void> => {
      while (!this.#isStopped) await this.world.runUntil(this.world.nowMs + turnMs);
    };
    void turn();
  }

  stop(): void {
    this.#isStopped = true;
  }

  pass(ms: number): Promise<void> {
    return this.clock.sleep(ms);
  }
}
