/** Bounds of the language; each has its own error. */
export const aqlLimits = {
  /** UTF-16 units of a query text: a longer text is data, and data belongs into bind parameters. */
  queryCharactersMax: 1024 * 1024,
  /** Nesting of expressions and subqueries: recursion of the parser, the planner and the compiled closures stays within the stack. */
  nestingMax: 500,
  /** Nodes of a plan: operators call one another, and 1,000 of them stay within the stack. */
  planNodesMax: 1000,
  /** Levels of a value, as of a request body: what is stored can be read, compared and sent back. */
  valueDepthMax: 200,
  /** Numbers that a range may hold when it becomes an array. */
  rangeItemsMax: 10_000_000,
  /** Steps, or bytes, of evaluating a constant where the language wants one: the value of an option, a direction of SORT. */
  constantCostMax: 1_000_000,
  /** Characters that one string function may produce. */
  stringCharactersMax: 16 * 1024 * 1024,
} as const;
