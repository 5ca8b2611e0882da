import { utf8 } from '../../base/index.js';
import { type Expression, emptyText, expr, nothing } from './Expression.js';

/**
 * One of these texts, as a tree over their bytes: what texts share at their beginning is read once, so that no place has more than 256 ways
 * to go on, however many texts there are. As deep as texts are prefixes of each other.
 */
export function choiceOfTexts(texts: readonly string[]): Expression {
  const sorted = [...new Set(texts)].map(bytesOf).sort(); // texts with the same beginning stand together
  return sorted.length === 0 ? nothing : treeOf(sorted, 0);
}

/** A character for each byte, so that they compare as bytes do. */
const bytesOf = (text: string): string => Array.from(utf8.encode(text), (byte) => String.fromCharCode(byte)).join('');

/** What is left of sorted texts behind the bytes that all of them share. */
const treeOf = (sorted: readonly string[], from: number): Expression => {
  const [first, last] = [sorted[0] as string, sorted.at(-1) as string];
  let to = from;
  while (to < first.length && first.charCodeAt(to) === last.charCodeAt(to)) to++;
  const shared = Array.from(first.slice(from, to), byteOf);
  if (sorted.length === 1) return expr.sequence(...shared);
  const ends = first.length === to;
  const branches = groupsOf(ends ? sorted.slice(1) : sorted, to).map((group) => treeOf(group, to));
  return expr.sequence(...shared, expr.choice(...(ends ? [emptyText] : []), ...branches));
};

const byteOf = (char: string): Expression => {
  const byte = char.charCodeAt(0);
  return { kind: 'bytes', ranges: [{ from: byte, to: byte }] };
};

const groupsOf = (sorted: readonly string[], at: number): readonly (readonly string[])[] => {
  const groups = new Map<number, string[]>();
  for (const text of sorted) {
    const group = groups.get(text.charCodeAt(at)) ?? [];
    group.push(text);
    groups.set(text.charCodeAt(at), group);
  }
  return [...groups.values()];
};
