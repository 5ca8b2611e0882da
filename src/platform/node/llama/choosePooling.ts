/** How a text's rows become one result; `rank`: a cross-encoder's score. */
export type Pooling = 'mean' | 'cls' | 'last' | 'rank';

/** llama.cpp's numbers, in files and in its API. */
export const poolingTypes: { readonly [name in Pooling]: number } = { mean: 1, cls: 2, last: 3, rank: 4 };

/**
 * What was asked for, else what the file says, else by how the model reads: only the last row of a causal model has seen the whole text.
 * `stated` is the file's number; undefined where there is none, or one that this table does not know.
 */
export function choosePooling(model: {
  readonly asked: Exclude<Pooling, 'rank'> | undefined;
  readonly stated: number | undefined;
  readonly isCausal: boolean;
}): Pooling {
  const names = Object.keys(poolingTypes) as Pooling[];
  const stated = names.find((name) => poolingTypes[name] === model.stated);
  return model.asked ?? stated ?? (model.isCausal ? 'last' : 'mean');
}
