import { existsSync } from 'node:fs';
import { trainingError } from '../../training/index.js';

/** A checkpoint is gone on from or removed, never overwritten. Errors: TRAINING_CHECKPOINT_FOUND, TRAINING_CHECKPOINT_MISSING. */
export function checkCheckpoint(path: string, resume: boolean): void {
  const isThere = existsSync(path);
  if (isThere && !resume)
    throw trainingError('TRAINING_CHECKPOINT_FOUND', `an unfinished run left ${path}: go on with --resume, or remove it`);
  if (!isThere && resume) throw trainingError('TRAINING_CHECKPOINT_MISSING', `there is no ${path} to go on from: start without --resume`);
}
