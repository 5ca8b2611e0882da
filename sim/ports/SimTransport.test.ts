import { afterAll } from 'vitest';
import { transportConformance } from '../../src/platform/conformance/transportConformance.js';
import { RunningWorld } from '../world/RunningWorld.js';
import { SimProcess } from '../world/SimProcess.js';
import { SimNetwork } from './SimNetwork.js';
import { SimTransport } from './SimTransport.js';

const running = new RunningWorld();
afterAll(() => running.stop());
const { world } = running;

transportConformance({
  name: 'simulated',
  open: async () => {
    const network = new SimNetwork({ world, random: world.random.fork('network') });
    const open = (shardId: string, port: number): SimTransport =>
      new SimTransport({ network, end: { shardId, process: new SimProcess(shardId) }, port });
    return { caller: open('caller', 1), callee: open('callee', 2) };
  },
  dispose: async () => undefined,
  pass: (ms) => running.pass(ms),
});
