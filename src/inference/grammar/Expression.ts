/** Inclusive. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * What every kind of constraint is translated to: a context-free grammar over characters and bytes. A choice without alternatives matches
 * nothing, a sequence without parts the empty text.
 */
export type Expression =
  | { readonly kind: 'bytes'; readonly ranges: readonly Range[] }
  /** One of these code points, in UTF-8. Surrogates are no characters and never match. */
  | { readonly kind: 'chars'; readonly ranges: readonly Range[] }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly kind: 'choice'; readonly alternatives: readonly Expression[] }
  /** `max` may be infinite. */
  | { readonly kind: 'repeat'; readonly of: Expression; readonly min: number; readonly max: number }
  | { readonly kind: 'rule'; readonly name: string };

/** `root` is where a text begins. */
export type Rules = ReadonlyMap<string, Expression>;

/** Short names for building expressions. */
export const expr = {
  text: (text: string): Expression => ({ kind: 'text', text }),
  chars: (...ranges: readonly Range[]): Expression => ({ kind: 'chars', ranges }),
  sequence: (...parts: readonly Expression[]): Expression => (parts.length === 1 ? (parts[0] as Expression) : { kind: 'sequence', parts }),
  choice: (...alternatives: readonly Expression[]): Expression =>
    alternatives.length === 1 ? (alternatives[0] as Expression) : { kind: 'choice', alternatives },
  repeat: (of: Expression, min: number, max: number): Expression => ({ kind: 'repeat', of, min, max }),
  optional: (of: Expression): Expression => ({ kind: 'repeat', of, min: 0, max: 1 }),
  rule: (name: string): Expression => ({ kind: 'rule', name }),
};

export const emptyText: Expression = { kind: 'sequence', parts: [] };
export const nothing: Expression = { kind: 'choice', alternatives: [] };
