import { trainingError } from './errors.js';
import type { TrainingRun } from './TrainingRun.js';

/** A checkpoint is gone on from by its own run alone, or the result would be that of neither. Errors: TRAINING_CHECKPOINT_INVALID. */
export function checkSameRun(stored: TrainingRun, asked: TrainingRun): void {
  const left = flat(stored);
  for (const [name, value] of flat(asked)) {
    const had = left.get(name);
    if (had === value) continue;
    throw trainingError('TRAINING_CHECKPOINT_INVALID', `the checkpoint is of another run: its ${name} is ${had}, asked for is ${value}`, {
      data: { setting: name },
    });
  }
}

const flat = ({ options, ...rest }: TrainingRun): ReadonlyMap<string, string | number> =>
  new Map<string, string | number>([...Object.entries(rest), ...Object.entries(options)]);
