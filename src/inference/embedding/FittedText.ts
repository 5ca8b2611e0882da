/** A text as the model reads it. */
export interface FittedText {
  readonly tokens: Int32Array;
  /** Tokens of the text that had no room. */
  readonly leftOut: number;
}
