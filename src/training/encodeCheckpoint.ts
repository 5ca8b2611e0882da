import { concatBytes, sha256Hex, utf8 } from '../base/index.js';
import type { TrainingRun } from './TrainingRun.js';

/** The whole state of a run after `steps` steps. */
export interface Checkpoint {
  readonly run: TrainingRun;
  readonly stepsDone: number;
  readonly tensors: readonly CheckpointTensor[];
}

/** A tensor and its moments; three arrays of one length. */
export interface CheckpointTensor {
  readonly name: string;
  readonly values: Float32Array;
  readonly first: Float32Array;
  readonly second: Float32Array;
}

export const checkpointMagic = 'OSTRAKA checkpoint 1\n';
export const checksumBytes = 64;

/**
 * A checkpoint as bytes: a line that says what it is, the length of its description, the description as JSON, the floats of every tensor
 * (little-endian), and the SHA-256 of all that.
 */
export function encodeCheckpoint({ run, stepsDone, tensors }: Checkpoint): Uint8Array {
  const description = utf8.encode(
    JSON.stringify({ run, stepsDone, tensors: tensors.map(({ name, values }) => ({ name, length: values.length })) }),
  );
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, description.length, true);
  const floats = tensors.flatMap(({ values, first, second }) => [values, first, second].map(bytesOf));
  const content = concatBytes([utf8.encode(checkpointMagic), length, description, ...floats]);
  return concatBytes([content, utf8.encode(sha256Hex(content))]);
}

const bytesOf = (values: Float32Array): Uint8Array => new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
