import { parentPort } from 'node:worker_threads';
import { runSimulation } from '../runSimulation.js';

// A thread of `runSeeds`: runs each seed it is sent, one after the other, and sends back what came of it.
parentPort?.on('message', async ({ seed, minutes }: { readonly seed: number; readonly minutes: number }) => {
  parentPort?.postMessage(await runSimulation({ seed, minutes, bug: undefined }));
});
