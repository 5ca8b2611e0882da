import { assert } from '../base/index.js';
import { encodeGguf, gguf } from '../models/index.js';
import type { TrainingRun } from './TrainingRun.js';

/** One matrix of an adapter, `rows` × `columns`, in the order of heads and pairs that GGUF models have. */
export interface AdapterTensor {
  readonly name: string;
  readonly columns: number;
  readonly rows: number;
  readonly values: Float32Array;
}

export interface AdapterContent {
  readonly domain: string;
  readonly baseDigest: string;
  /** Of the base model whatever its quantisation (`readBaseFingerprint`). */
  readonly baseFingerprint?: string | undefined;
  readonly rank: number;
  readonly alpha: number;
  readonly tensors: readonly AdapterTensor[];
  /** Where the two rows of q and k stand that the position turns together: side by side in GGUF, half a head apart in PEFT. Absent = gguf. */
  readonly rowOrder?: 'gguf' | 'peft';
  /** How it was trained; absent for one that was imported. */
  readonly run?: TrainingRun;
}

const halfMax = 65_504;

/**
 * An adapter as a GGUF file of 16-bit floats, as the engine loads it. It also says of which domain it is, for which model file, and how it
 * came about; the same content gives the same bytes. Values fit 16 bits: callers refuse others first.
 */
export function encodeAdapter({
  domain,
  baseDigest,
  baseFingerprint,
  rank,
  alpha,
  tensors,
  rowOrder = 'gguf',
  run,
}: AdapterContent): Uint8Array {
  for (const { name, columns, rows, values } of tensors) {
    assert(values.length === columns * rows, 'a matrix has as many values as its size says', { name });
    assert(fitsHalf(values), 'the values of an adapter fit 16 bits', { name });
  }
  const { text, u32, f32 } = gguf.metadata;
  const trained = run === undefined ? [] : trainedBy(run);
  return encodeGguf({
    metadata: [
      text('general.type', 'adapter'),
      text('general.architecture', 'llama'),
      text('general.name', domain),
      text('adapter.type', 'lora'),
      f32('adapter.lora.alpha', alpha),
      text('ostraka.adapter.domain', domain),
      text('ostraka.adapter.base_digest', baseDigest),
      ...(baseFingerprint === undefined ? [] : [text('ostraka.adapter.base_fingerprint', baseFingerprint)]),
      u32('ostraka.adapter.rank', rank),
      text('ostraka.adapter.row_order', rowOrder),
      ...trained,
    ],
    tensors: tensors.map(({ name, columns, rows, values }) => ({ name, dimensions: [columns, rows], type: 'f16', values })),
  });
}

/** Whether every value is a number that 16 bits can hold. */
export const fitsHalf = (values: Float32Array): boolean => values.every((value) => Math.abs(value) <= halfMax);

const trainedBy = ({ dataDigest, examples, options }: TrainingRun): Uint8Array[] => [
  gguf.metadata.text('ostraka.training.data_digest', dataDigest),
  gguf.metadata.u32('ostraka.training.samples', examples),
  gguf.metadata.u32('ostraka.training.steps', options.steps),
  gguf.metadata.u32('ostraka.training.batch', options.batch),
  gguf.metadata.f32('ostraka.training.learning_rate', options.learningRate),
  gguf.metadata.u32('ostraka.training.seed', options.seed),
];
