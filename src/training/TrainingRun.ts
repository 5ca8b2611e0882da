import type { TrainingOptions } from './options.js';

/** What a run trains, on what and how: the same run gives the same bytes on one machine. */
export interface TrainingRun {
  readonly domain: string;
  /** SHA-256 of the base model's file and of the data file, hex. */
  readonly baseDigest: string;
  readonly dataDigest: string;
  readonly examples: number;
  readonly options: TrainingOptions;
}
