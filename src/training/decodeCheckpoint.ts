import { z } from 'zod';
import { sha256Hex, utf8 } from '../base/index.js';
import { type Checkpoint, type CheckpointTensor, checkpointMagic, checksumBytes } from './encodeCheckpoint.js';
import { trainingError } from './errors.js';
import { trainingOptions } from './options.js';

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const description = z.object({
  run: z.object({ domain: z.string(), baseDigest: digest, dataDigest: digest, examples: z.int().min(1), options: trainingOptions }),
  stepsDone: z.int().min(0),
  tensors: z.array(z.object({ name: z.string(), length: z.int().min(0) })),
});

/** Reads what encodeCheckpoint wrote. Errors: TRAINING_CHECKPOINT_INVALID (cut, changed, or no checkpoint). */
export function decodeCheckpoint(bytes: Uint8Array): Checkpoint {
  const magic = utf8.encode(checkpointMagic);
  const contentBytes = bytes.length - checksumBytes;
  if (contentBytes < magic.length + 4 || utf8.decode(bytes.subarray(0, magic.length)) !== checkpointMagic)
    throw damaged('it is no checkpoint of this version');
  const content = bytes.subarray(0, contentBytes);
  if (sha256Hex(content) !== utf8.decode(bytes.subarray(contentBytes))) throw damaged('its checksum is wrong');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const descriptionAt = magic.length + 4;
  const floatsAt = descriptionAt + view.getUint32(magic.length, true);
  const { run, stepsDone, tensors } = parse(content.subarray(descriptionAt, floatsAt));
  const floats = new Uint8Array(content.subarray(floatsAt)); // a copy, aligned
  const counted = tensors.reduce((total, { length }) => total + 3 * length, 0);
  if (floats.length !== counted * 4) throw damaged('its tensors are not as long as it says');
  return { run, stepsDone, tensors: cutTensors(tensors, new Float32Array(floats.buffer)) };
}

const damaged = (reason: string, cause?: unknown) =>
  trainingError('TRAINING_CHECKPOINT_INVALID', `the checkpoint cannot be used: ${reason}`, { cause });

const parse = (bytes: Uint8Array): z.infer<typeof description> => {
  try {
    return description.parse(JSON.parse(utf8.decode(bytes)));
  } catch (cause) {
    throw damaged('its description has another form', cause);
  }
};

const cutTensors = (tensors: readonly { readonly name: string; readonly length: number }[], floats: Float32Array): CheckpointTensor[] => {
  let offset = 0;
  const next = (length: number): Float32Array => {
    offset += length;
    return floats.subarray(offset - length, offset);
  };
  return tensors.map(({ name, length }) => ({ name, values: next(length), first: next(length), second: next(length) }));
};
