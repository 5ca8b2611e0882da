import { type Expression, emptyText, expr, nothing } from './Expression.js';

export interface NumberBounds {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
}

// Fifteen digits: any two such decimals are different doubles, so that the bounds hold for the parsed number too.
const scaledMax = 10n ** 15n - 1n;
const decimalsMax = 6;

/** The integers within bounds, with at most 15 digits. */
export const integersWithin = (bounds: NumberBounds): Expression => fixedPoint(bounds, 0);

/** The decimals within bounds that have at most six decimals and 15 digits; no exponents. */
export const numbersWithin = (bounds: NumberBounds): Expression =>
  expr.choice(...Array.from({ length: decimalsMax + 1 }, (_, decimals) => fixedPoint(bounds, decimals)));

/** Numbers written with exactly so many decimals: the integers between the scaled bounds, with a point in them. There is no -0. */
function fixedPoint(bounds: NumberBounds, decimals: number): Expression {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  const lows = [-scaledMax];
  if (minimum !== undefined) lows.push(-floorScaled(-minimum, decimals));
  if (exclusiveMinimum !== undefined) lows.push(floorScaled(exclusiveMinimum, decimals) + 1n);
  const highs = [scaledMax];
  if (maximum !== undefined) highs.push(floorScaled(maximum, decimals));
  if (exclusiveMaximum !== undefined) highs.push(-floorScaled(-exclusiveMaximum, decimals) - 1n);
  const low = sorted(lows).at(-1) as bigint;
  const high = sorted(highs)[0] as bigint;
  const negative = naturals(high < 0n ? -high : 1n, -low, decimals);
  return expr.choice(expr.sequence(expr.text('-'), negative), naturals(low > 0n ? low : 0n, high, decimals));
}

const sorted = (values: readonly bigint[]): readonly bigint[] =>
  [...values].sort((left, right) => (left < right ? -1 : left > right ? 1 : 0));

/** The largest integer that is not above `value * 10 ** decimals`; exact, from the shortest decimal that names the double. */
function floorScaled(value: number, decimals: number): bigint {
  const [mantissa = '', exponent = '0'] = String(value).split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = BigInt(`${whole}${fraction}`);
  const shift = Number(exponent) - fraction.length + decimals;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  const quotient = digits / divisor; // towards zero
  return digits < 0n && quotient * divisor !== digits ? quotient - 1n : quotient;
}

function naturals(low: bigint, high: bigint, decimals: number): Expression {
  const alternatives: Expression[] = [];
  for (let length = decimals + 1; low <= high && length <= String(high).length + decimals; length++) {
    const least = length === decimals + 1 ? 0n : 10n ** BigInt(length - 1);
    const most = 10n ** BigInt(length) - 1n;
    const from = low > least ? low : least;
    const to = high < most ? high : most;
    if (from > to) continue;
    alternatives.push(between(String(from).padStart(length, '0'), String(to).padStart(length, '0'), decimals));
  }
  return alternatives.length === 0 ? nothing : expr.choice(...alternatives);
}

const digitsFrom = (from: number, to: number): Expression => expr.chars({ from: 48 + from, to: 48 + to });

/** Digit strings of one length between two, a point before the last `decimals`. */
function between(low: string, high: string, decimals: number): Expression {
  if (low === '') return emptyText;
  if (low.length === decimals) return expr.sequence(expr.text('.'), between(low, high, -1));
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  const [first, last] = [Number(low[0]), Number(high[0])];
  const least = '0'.repeat(lowRest.length);
  const most = '9'.repeat(lowRest.length);
  const part = (from: number, to: number, restLow: string, restHigh: string): Expression[] =>
    from > to ? [] : [expr.sequence(digitsFrom(from, to), between(restLow, restHigh, decimals))];
  if (first === last) return expr.choice(...part(first, last, lowRest, highRest));
  const lowIsFree = lowRest === least;
  const highIsFree = highRest === most;
  return expr.choice(
    ...(lowIsFree ? [] : part(first, first, lowRest, most)),
    ...part(lowIsFree ? first : first + 1, highIsFree ? last : last - 1, least, most),
    ...(highIsFree ? [] : part(last, last, least, highRest)),
  );
}
