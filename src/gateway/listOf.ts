import { z } from 'zod';

/**
 * A list of a body that is read up to its first wrong item: zod alone would collect an issue of each, which takes seconds and gigabytes
 * where a body of 33 MB is a list of millions of them. The error names the item.
 */
export function listOf<Item extends z.ZodType>(item: Item, bounds: { readonly min?: number; readonly max?: number } = {}) {
  const { min = 0, max = Number.POSITIVE_INFINITY } = bounds;
  return z
    .custom<readonly unknown[]>(Array.isArray, { error: 'Invalid input: expected array' })
    .refine((values) => values.length >= min, { error: `Too small: expected array to have >=${min} items`, abort: true })
    .refine((values) => values.length <= max, { error: `Too big: expected array to have <=${max} items`, abort: true })
    .transform((values, context) => {
      const read: z.infer<Item>[] = [];
      for (const [index, value] of values.entries()) {
        const result = item.safeParse(value);
        if (!result.success) {
          const [issue] = result.error.issues;
          context.addIssue({ code: 'custom', message: issue?.message ?? 'is wrong', path: [index, ...(issue?.path ?? [])] });
          return z.NEVER;
        }
        read.push(result.data);
      }
      return read;
    });
}
