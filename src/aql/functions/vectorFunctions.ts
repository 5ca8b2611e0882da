import type { JsonValue } from '../../base/index.js';
import { isArray } from '../evaluation/valueKinds.js';
import { type FunctionDefinition, type FunctionTable, shallow, wrongType } from './FunctionDefinition.js';

type Vector = readonly number[];

const isVector = (value: JsonValue | undefined): value is Vector => isArray(value) && value.every((item) => typeof item === 'number');
const isMatrix = (value: JsonValue | undefined): value is readonly Vector[] => isArray(value) && value.length > 0 && value.every(isVector);

/** Of two vectors of equal length, or of a list of vectors and one vector (then a list). Else null with warning 1542. */
const ofVectors = (name: string, measure: (left: Vector, right: Vector) => JsonValue): FunctionDefinition =>
  shallow(2, 2, ([left, right], context) => {
    if (isVector(left) && isVector(right) && left.length === right.length) return measure(left, right);
    if (isMatrix(left) && isVector(right) && left.every((row) => row.length === right.length))
      return left.map((row) => measure(row, right));
    return wrongType(context, name);
  });

const finite = (value: number): JsonValue => (Number.isFinite(value) ? value : null);

const dot = (left: Vector, right: Vector): number => {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += (left[i] as number) * (right[i] as number);
  return sum;
};

const cosine = (left: Vector, right: Vector): JsonValue => finite(dot(left, right) / Math.sqrt(dot(left, left) * dot(right, right)));

const distance = (left: Vector, right: Vector, power: 1 | 2): number => {
  let sum = 0;
  for (let i = 0; i < left.length; i++) sum += Math.abs((left[i] as number) - (right[i] as number)) ** power;
  return power === 1 ? sum : Math.sqrt(sum);
};

/** Exact vector measures (R9). A vector of length zero has no direction: its cosine is null. */
export const vectorFunctions: FunctionTable = {
  COSINE_SIMILARITY: ofVectors('COSINE_SIMILARITY', cosine),
  L1_DISTANCE: ofVectors('L1_DISTANCE', (left, right) => finite(distance(left, right, 1))),
  L2_DISTANCE: ofVectors('L2_DISTANCE', (left, right) => finite(distance(left, right, 2))),
};
