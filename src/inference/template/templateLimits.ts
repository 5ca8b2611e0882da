/**
 * What a chat template may cost: it comes with a model file from anywhere and runs inside the engine's loop. Counted rather than timed, so
 * that the same messages meet the same verdict on every machine. A template in use takes about 100 steps a message and is of 1 to 30 kB.
 */
export const templateLimits = {
  sourceCharactersMax: 131_072,
  /** The parser looks through each run of spaces once for each of its characters. */
  spaceRunMax: 1024,
  stepsMax: 50_000,
  /** Added for each message, and for each tool. */
  stepsPerMessage: 1_000,
  /** Of one value that it makes, with all that a list or a mapping in it holds; and of what it writes, texts from outside not counted. */
  charactersMax: 1_048_576,
  /** Of blocks, operators and calls inside each other. */
  nestingMax: 500,
  /** Of lists and mappings inside each other. */
  valueNestingMax: 64,
  macroParametersMax: 64,
  /** Of its own words in an error. */
  messageCharactersMax: 500,
} as const;
