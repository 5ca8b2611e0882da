import { afterAll } from 'vitest';
import { metadataStoreConformance } from '../../src/platform/conformance/metadataStoreConformance.js';
import { RunningWorld } from '../world/RunningWorld.js';
import { SimProcess } from '../world/SimProcess.js';
import { SimMetadataServer } from './SimMetadataServer.js';
import { SimMetadataStore } from './SimMetadataStore.js';

const running = new RunningWorld();
afterAll(() => running.stop());
const { world } = running;

metadataStoreConformance({
  name: 'simulated',
  open: async () => {
    const server = new SimMetadataServer(world);
    const open = (name: string): SimMetadataStore =>
      new SimMetadataStore({
        world,
        process: new SimProcess(name),
        random: world.random.fork(name),
        server,
        faults: { refusedShare: 0, answerLostShare: 0 },
      });
    return [open('first'), open('second')];
  },
  pass: (ms) => running.pass(ms),
  dispose: async (stores) => {
    for (const store of stores) await store.close();
  },
});
