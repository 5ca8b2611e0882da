/** What GET /_ostraka/jobs tells of a job; times in seconds, `startedAt` in milliseconds since 1970. */
export interface JobAnswer {
  readonly job: string;
  readonly shard: string;
  readonly kind: string;
  readonly title: string;
  readonly state: string;
  readonly unit: string;
  readonly done: number;
  readonly total?: number;
  readonly ratePerSecond: number;
  readonly secondsLeft?: number;
  readonly startedAt: number;
  readonly seconds: number;
  readonly message?: string;
}

export interface JobsAnswer {
  readonly jobs: readonly JobAnswer[];
  readonly unreachable: readonly string[];
}
