import type { OstrakaErrorJson } from '../../base/index.js';
import type { Example, TrainerOptions, TrainingProgress, TrainingRun } from '../../training/index.js';

// The messages between `adapter train` and its child. Both ends are of one build, so they carry no version.

/** What the child trains, from what, and where the results go. Paths are absolute. */
export interface TrainerConfig {
  readonly model: { readonly path: string; readonly digest: string };
  readonly run: TrainingRun;
  readonly examples: readonly Example[];
  /** As the user named it, for errors. */
  readonly dataName: string;
  readonly outFile: string;
  readonly checkpointFile: string;
  readonly resume: boolean;
  readonly threads: number;
  readonly trainer: TrainerOptions;
}

/** `start` comes first and once; `stop` stores the state and ends the child. */
export type TrainerCommand = { readonly kind: 'start'; readonly config: TrainerConfig } | { readonly kind: 'stop' };

/** How a child's work ended by itself. */
export type TrainerEnd =
  | { readonly kind: 'finished'; readonly digest: string; readonly bytes: number }
  | { readonly kind: 'stopped'; readonly stepsDone: number };

export type TrainerMessage =
  | { readonly kind: 'started'; readonly stepsDone: number; readonly tokens: number }
  | { readonly kind: 'progress'; readonly progress: TrainingProgress }
  | TrainerEnd
  | { readonly kind: 'failed'; readonly error: OstrakaErrorJson };
