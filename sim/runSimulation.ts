import { type PlantedBugName, plantedBugs } from './bugs/plantedBugs.js';
import { checkQuiet } from './checkers/checkQuiet.js';
import { SimCluster } from './cluster/SimCluster.js';
import { planFaults } from './faults/planFaults.js';
import { startFault } from './faults/startFault.js';
import { BankWorkload } from './workloads/BankWorkload.js';
import { ChatWorkload } from './workloads/ChatWorkload.js';
import { CursorWorkload } from './workloads/CursorWorkload.js';
import { DropWorkload } from './workloads/DropWorkload.js';
import { EmbedRowsWorkload } from './workloads/EmbedRowsWorkload.js';
import { EmbedWorkload } from './workloads/EmbedWorkload.js';
import { InferWorkload } from './workloads/InferWorkload.js';
import { ListWorkload } from './workloads/ListWorkload.js';
import { PairWorkload } from './workloads/PairWorkload.js';
import { RegisterWorkload } from './workloads/RegisterWorkload.js';
import { SimClient } from './workloads/SimClient.js';
import type { Workload } from './workloads/Workload.js';
import { SimWorld, type Violation } from './world/SimWorld.js';

export interface SimulationOptions {
  readonly seed: number;
  /** Virtual time under load and faults and of the quiet after them. */
  readonly minutes: number;
  readonly bug: PlantedBugName | undefined;
  /** Sees every line of the trace; for looking into a run. */
  readonly onTraceLine?: ((line: string) => void) | undefined;
}

export interface SimulationResult {
  readonly seed: number;
  readonly traceSha256: string;
  readonly violations: readonly Violation[];
  readonly shards: number;
  readonly events: number;
  /** The rare states that came about. */
  readonly reached: readonly string[];
  /** The end of the trace. */
  readonly newest: readonly string[];
}

/** A run of every so many seeds has five shards instead of three. */
const fiveShardsEvery = 5;

const limits = {
  startMs: 20_000,
  readyMs: 30_000,
  verifyMs: 120_000,
  clients: 4,
  thinkMs: { min: 10, max: 330 },
  traceLinesKept: 200,
  /** Shares of the run: faults, load without faults; the rest is quiet. */
  faultShare: 0.6,
  loadShare: 0.7,
} as const;

/**
 * One run: the real shards on simulated ports, clients that use them over HTTP, faults drawn by the seed; then all is healed, everything
 * becomes quiet, and what must be true is checked. The same options give the same trace.
 */
export async function runSimulation(options: SimulationOptions): Promise<SimulationResult> {
  const { seed, minutes, bug } = options;
  const world = new SimWorld({ seed, traceLinesKept: limits.traceLinesKept, onTraceLine: options.onTraceLine });
  const shards = seed % fiveShardsEvery === 0 ? 5 : 3;
  const cluster = new SimCluster({ world, shardCount: shards, bug: bug === undefined ? {} : plantedBugs[bug] });
  const onRejection = (reason: unknown): void => world.violate('rejections', `nobody handles ${String(reason)}`);
  process.on('unhandledRejection', onRejection);
  try {
    await run(cluster, minutes * 60_000);
  } finally {
    cluster.end();
    process.off('unhandledRejection', onRejection);
  }
  const { violations, trace, eventsRun } = world;
  return { seed, traceSha256: trace.sha256(), violations, shards, events: eventsRun, reached: world.reached, newest: trace.newest() };
}

const run = async (cluster: SimCluster, durationMs: number): Promise<void> => {
  const { world } = cluster;
  const workloads: readonly Workload[] = [
    new RegisterWorkload(),
    new BankWorkload(),
    new PairWorkload(),
    new InferWorkload(),
    new ChatWorkload(),
    new ListWorkload(),
    new CursorWorkload(),
    new DropWorkload(),
    new EmbedWorkload(),
    new EmbedRowsWorkload(),
  ];
  if (!(await world.runWhile(cluster.start(limits.startMs), limits.startMs))) return world.violate('start', 'the cluster does not start');
  const overseer = new SimClient({ name: 'overseer', random: world.random.fork('overseer'), cluster });
  await finish(cluster, 'set-up', setUp(workloads, overseer));
  const startMs = world.nowMs;
  const faultsEndMs = startMs + durationMs * limits.faultShare;
  scheduleFaults(cluster, startMs, faultsEndMs);
  const loadEndMs = startMs + durationMs * limits.loadShare;
  const clients = Array.from({ length: limits.clients }, (_, i) => {
    const client = new SimClient({ name: `client-${i}`, random: world.random.fork(`client ${i}`), cluster });
    return useCluster(client, workloads, loadEndMs);
  });
  await world.runUntil(faultsEndMs);
  cluster.heal();
  if (!(await world.runWhile(cluster.whenReady(limits.readyMs), limits.readyMs))) world.violate('liveness', 'shards do not come back');
  await finish(cluster, 'clients', Promise.all(clients));
  await world.runUntil(Math.max(world.nowMs, startMs + durationMs));
  await finish(cluster, 'verification', verify(workloads, overseer));
};

/** Runs until `work` has ended; that it does not is a violation. */
const finish = async (cluster: SimCluster, name: string, work: Promise<unknown>): Promise<void> => {
  const ended = await cluster.world.runWhile(
    work.then(() => true),
    limits.verifyMs,
  );
  if (!ended) cluster.world.violate('liveness', `${name} did not end`);
};

const setUp = async (workloads: readonly Workload[], client: SimClient): Promise<void> => {
  for (const workload of workloads) await workload.setUp(client);
};

const verify = async (workloads: readonly Workload[], client: SimClient): Promise<void> => {
  await checkQuiet(client);
  for (const workload of workloads) await workload.verify(client);
};

const scheduleFaults = (cluster: SimCluster, fromMs: number, toMs: number): void => {
  const { world, shards } = cluster;
  for (const fault of planFaults({ random: world.random.fork('faults'), shardCount: shards.length, fromMs, toMs })) {
    world.schedule({
      delayMs: fault.atMs - world.nowMs,
      owner: undefined,
      run: () => {
        const end = startFault(cluster, fault);
        world.schedule({ delayMs: fault.forMs, owner: undefined, run: end });
      },
    });
  }
};

const useCluster = async (client: SimClient, workloads: readonly Workload[], endMs: number): Promise<void> => {
  const drawn = workloads.flatMap((workload) => Array.from({ length: workload.weight }, () => workload));
  while (client.nowMs < endMs) {
    await client.random.pick(drawn).step(client);
    await client.sleep(client.random.between(limits.thinkMs.min, limits.thinkMs.max));
  }
};
