/** Up to so many, keeping a short sorted list beside the pass is cheapest; beyond, its insertions grow with the square. */
const insertedMax = 64;

/** Ids of the `count` largest logits in falling order, lower ids first among equals. */
export function largestLogits(logits: Float32Array, count: number): readonly number[] {
  if (count > insertedMax) return sortedAbove(logits, Math.min(count, logits.length));
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

/** Finds the least of the largest first, so that no more than needed are compared by id. */
function sortedAbove(logits: Float32Array, count: number): readonly number[] {
  const least = logits.slice().sort()[logits.length - count] as number;
  const tokens: number[] = [];
  for (let token = 0; token < logits.length; token++) if ((logits[token] as number) >= least) tokens.push(token);
  return tokens.sort((left, right) => (logits[right] as number) - (logits[left] as number) || left - right).slice(0, count);
}

function insert(tokens: number[], token: number, logits: Float32Array, count: number): void {
  const logit = logits[token] as number;
  let place = tokens.length === count ? count - 1 : tokens.length;
  for (; place > 0 && (logits[tokens[place - 1] as number] as number) < logit; place--) tokens[place] = tokens[place - 1] as number;
  tokens[place] = token;
}
