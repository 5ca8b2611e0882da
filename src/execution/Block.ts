import type { JsonValue } from '../base/index.js';

/** A row of registers: the value of plan variable v at index v. Owned by the operator that holds it, which may write into it. */
export type Row = JsonValue[];

/** Rows that travel between operators together; never empty. */
export type Block = readonly Row[];

/** Rows of one block at most: long enough to make async steps cheap, short enough to notice cancellation. */
export const blockRowsMax = 1000;

/** An operator over blocks. It pulls; ending its iteration early ends what it pulls from. */
export type Operator = (input: AsyncIterable<Block>) => AsyncIterable<Block>;
