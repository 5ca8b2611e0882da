/** `waiting`: it will go on by itself. */
export type JobState = 'running' | 'waiting' | 'done' | 'failed' | 'cancelled';

/** Something that takes over a second, as it is told to people and programs (R38). */
export interface JobReport {
  /** The same on every shard that has a part of it. */
  readonly job: string;
  readonly shard: string;
  readonly kind: 'embed' | 'model' | 'adapter';
  readonly title: string;
  readonly state: JobState;
  readonly unit: 'rows' | 'percent';
  readonly done: number;
  /** Absent where nobody knows. */
  readonly total?: number;
  /** Of the last seconds; of the whole once it has ended. */
  readonly ratePerSecond: number;
  /** At this rate; absent where it cannot be told. */
  readonly secondsLeft?: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly seconds: number;
  /** Why it waits or has failed. */
  readonly message?: string;
}
