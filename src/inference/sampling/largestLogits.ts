/** Ids of the `count` largest logits in falling order, lower ids first among equals. */
export function largestLogits(logits: Float32Array, count: number): readonly number[] {
  const tokens: number[] = [];
  let least = Number.NEGATIVE_INFINITY;
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number;
    if (tokens.length === count && !(logit > least)) continue;
    insert(tokens, token, logits, count);
    least = logits[tokens.at(-1) as number] as number;
  }
  return tokens;
}

function insert(tokens: number[], token: number, logits: Float32Array, count: number): void {
  const logit = logits[token] as number;
  let place = tokens.length === count ? count - 1 : tokens.length;
  for (; place > 0 && (logits[tokens[place - 1] as number] as number) < logit; place--) tokens[place] = tokens[place - 1] as number;
  tokens[place] = token;
}
