const editDistance = (left: string, right: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, i) => i);
  for (let i = 1; i <= left.length; i++) {
    const current = [i];
    for (let j = 1; j <= right.length; j++) {
      const substitution = (last[j - 1] as number) + (left[i - 1] === right[j - 1] ? 0 : 1);
      let best = Math.min((last[j] as number) + 1, (current[j - 1] as number) + 1, substitution);
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1])
        best = Math.min(best, (beforeLast[j - 2] as number) + 1);
      current.push(best);
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] as number;
};

const nameCharactersMax = 64;

/** The nearest of the known names (edits and swaps, at most a third of the length), or undefined. Case is not a difference. */
export function suggestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > nameCharactersMax) return undefined;
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toUpperCase(), candidate.toUpperCase());
    if (distance >= bestDistance) continue;
    best = candidate;
    bestDistance = distance;
  }
  return best;
}
