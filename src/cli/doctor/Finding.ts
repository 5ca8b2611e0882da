/** One line of `ostraka doctor`. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem';
  readonly found: string;
  /** What to do; empty when all is well. */
  readonly advice: string;
}
