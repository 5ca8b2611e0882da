import { randomBytes } from 'node:crypto';
import type { Random } from '../index.js';

/** The operating system's randomness; forks need no seed. */
export class NodeRandom implements Random {
  next(): number {
    return this.uint32() / 2 ** 32;
  }

  uint32(): number {
    return randomBytes(4).readUInt32LE();
  }

  fork(): Random {
    return this;
  }
}
