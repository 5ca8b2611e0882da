import type { Finding } from './Finding.js';
import type { RunningCluster } from './readRunningCluster.js';

/**
 * What the ports of a cluster say: those that the cluster of the data folder itself uses are no finding. `others`: taken ports on which
 * a shard of another cluster answers.
 */
export function portFinding(given: {
  readonly wanted: { readonly port: number; readonly shards: number };
  readonly taken: readonly number[];
  readonly running: RunningCluster | undefined;
  readonly others: readonly number[];
}): Finding {
  const { wanted, running, others } = given;
  const range = `${wanted.port}…${wanted.port + wanted.shards - 1} and ${wanted.port + 100}…${wanted.port + 99 + wanted.shards}`;
  const foreign = given.taken.filter((port) => !running?.ports.includes(port));
  if (foreign.length === 0) {
    const own =
      running && given.taken.length > 0 ? `are used by the running cluster of this data folder (process ${running.pid})` : 'are free';
    return { check: 'ports', state: 'ok', found: `${range} ${own}`, advice: '' };
  }
  const whose = foreign.every((port) => others.includes(port) || others.includes(port - 100))
    ? 'another Ostraka cluster'
    : 'another program';
  return {
    check: 'ports',
    state: 'warning',
    found: `${foreign.length === 1 ? 'port' : 'ports'} ${foreign.join(', ')} taken by ${whose}`,
    advice:
      whose === 'another program'
        ? 'choose another --port, or stop it'
        : 'if it is yours, give its --data folder; else choose another --port',
  };
}
