import { compileExpression, type EmbedNode, isArray, toText } from '../../aql/index.js';
import { isObject, type JsonValue } from '../../base/index.js';
import type { Block, Operator, Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { executionError } from '../errors.js';
import { countEmbedded } from '../QueryStats.js';
import type { SequenceContext } from '../SequenceContext.js';
import { guardsHold } from './guardsHold.js';

/**
 * EMBED of a block at a time, on this shard's engine: each distinct text once, `embedTextsMax` texts a request (paper §IV-E). A text gives
 * a vector, an array a list of vectors, null null. EMBED has no options yet: each that is given is a warning.
 */
export function embedOperator(node: EmbedNode, context: SequenceContext): Operator {
  const compiled = compileExpression(node.input);
  const options = node.options && compileExpression(node.options);
  return async function* (input) {
    let warned = false;
    for await (const block of input) {
      const inputs = block.map((row) => (guardsHold(node.guards, row) ? compiled(row, context.evaluation) : null));
      if (options && !warned) warnOfOptions(options(block[0] as Row, context.evaluation), context);
      warned = true;
      const vectors = await embedTexts(node, context, new Set(inputs.flatMap(textsOf)));
      setVectors(node, block, inputs, vectors);
      await context.pacer.pace();
      yield block;
    }
  };
}

const warnOfOptions = (options: JsonValue, context: SequenceContext): void => {
  if (!isObject(options)) throw executionError('INFER_OPTION_INVALID', 'OPTIONS of EMBED must be an object');
  for (const name of Object.keys(options)) context.warnings.add(1578, `unknown option '${name}' of EMBED`);
};

const textsOf = (input: JsonValue): readonly string[] => {
  if (input === null) return [];
  if (!isArray(input)) return [toText(input)];
  if (input.some((item) => item === null)) throw executionError('EMBED_INPUT_INVALID', 'EMBED of an array takes texts, not null');
  return input.map(toText);
};

async function embedTexts(node: EmbedNode, context: SequenceContext, texts: ReadonlySet<string>): Promise<ReadonlyMap<string, JsonValue>> {
  const vectors = new Map<string, JsonValue>();
  const { stats, options } = context;
  for (const batch of chunked([...texts], options.embedTextsMax)) {
    const requestId = `${context.queryId}:embed:${stats.embed.requests}`;
    const result = await context.models.embed({ requestId, model: node.model, texts: batch }, context.signal);
    for (const [i, text] of batch.entries()) vectors.set(text, result.vectors[i] ?? null);
    stats.embed.requests++;
    stats.embed.texts += batch.length;
    stats.embed.promptTokens += result.promptTokens;
    countEmbedded(stats.embed, context.shardId, batch.length);
  }
  return vectors;
}

function setVectors(node: EmbedNode, block: Block, inputs: readonly JsonValue[], vectors: ReadonlyMap<string, JsonValue>): void {
  const vectorOf = (text: JsonValue): JsonValue => vectors.get(toText(text)) ?? null;
  for (const [i, row] of block.entries()) (row as Row)[node.variable] = resultOf(inputs[i] ?? null, vectorOf);
}

const resultOf = (input: JsonValue, vectorOf: (text: JsonValue) => JsonValue): JsonValue => {
  if (input === null) return null;
  return isArray(input) ? input.map(vectorOf) : vectorOf(input);
};
