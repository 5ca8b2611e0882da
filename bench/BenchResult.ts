/** One measured figure beside the figure of its alternative. */
export interface BenchResult {
  /** What was measured: `engine decode, 8 sequences`. */
  readonly name: string;
  /** The quantity: `tokens per CPU-second`. */
  readonly metric: string;
  /** Median over the runs. */
  readonly value: number;
  readonly unit: string;
  /** The named alternative, and how many times as good ours is (1 = equal, more = better). */
  readonly against: string;
  readonly ratio: number;
  /** (largest - smallest) / median over the runs. */
  readonly spread: number;
  readonly runs: number;
  /** Processor, cores, Node version. */
  readonly machine: string;
  /** One-minute load average when the bench began: what else the machine was doing. */
  readonly load: number;
}
