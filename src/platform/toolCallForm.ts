/**
 * How calls of tools stand in the text of an answer: the form of Hermes models, which Qwen and others share. A call is
 * `opening beforeName NAME beforeArguments JSON afterArguments`, further ones follow after `between`, and nothing follows the last. The
 * engine's grammar lets a model write nothing else after an opening, so that whoever reads an answer needs no parser that guesses.
 */
export const toolCallForm = {
  opening: '<tool_call>',
  beforeName: '\n{"name": "',
  beforeArguments: '", "arguments": ',
  afterArguments: '}\n</tool_call>',
  between: '\n',
} as const;
