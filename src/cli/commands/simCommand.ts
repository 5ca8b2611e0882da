import { type PlantedBugName, plantedBugs, runSimulation } from '../../../sim/index.js';
import { cliError } from '../errors.js';

const isBug = (name: string): name is PlantedBugName => Object.hasOwn(plantedBugs, name);

/** `ostraka sim --seed N`: one simulated run; prints its trace hash and what went wrong, and ends with 1 when something did. */
export async function simCommand(options: {
  readonly seed: number;
  readonly minutes: number;
  readonly bug?: string;
  readonly json: boolean;
}): Promise<void> {
  const { seed, minutes, bug } = options;
  if (bug !== undefined && !isBug(bug)) throw cliError('USAGE', `--bug ${bug}: give one of ${Object.keys(plantedBugs).join(', ')}`);
  const { traceSha256, violations, newest, shards, events } = await runSimulation({ seed, minutes, bug });
  if (options.json) process.stdout.write(`${JSON.stringify({ seed, traceSha256, violations })}\n`);
  else {
    process.stdout.write(`seed ${seed}: ${shards} shards, ${minutes} min, ${events} events, trace ${traceSha256}\n`);
    if (violations.length > 0) process.stdout.write(`…\n${newest.map((line) => line.slice(0, 300)).join('\n')}\n`);
    for (const { atMs, checker, message } of violations) process.stdout.write(`violation at ${atMs} ms, ${checker}: ${message}\n`);
    process.stdout.write(`${violations.length} violations\n`);
  }
  if (violations.length > 0) process.exitCode = 1;
}
