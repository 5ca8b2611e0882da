import { z } from 'zod';

/** A list of token ids, read at once: an issue for each of millions that are none would take seconds. */
export const tokenIds = ({ min, max }: { readonly min: number; readonly max: number }) =>
  z.custom<readonly number[]>(
    (value) => Array.isArray(value) && value.length >= min && value.length <= max && value.every(isTokenId),
    `must be ${min} to ${max} token ids, whole numbers from 0`,
  );

const isTokenId = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
