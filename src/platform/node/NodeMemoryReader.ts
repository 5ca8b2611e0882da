import type { FreeMemory, MemoryReader } from '../index.js';
import { readFreeMemory } from './readFreeMemory.js';
import { readTextIfThere } from './readTextIfThere.js';

/** MemoryReader of this process: the machine's memory, and the limits of the control groups it is in. Linux alone tells. */
export class NodeMemoryReader implements MemoryReader {
  read(): FreeMemory | undefined {
    return readFreeMemory(readTextIfThere);
  }
}
