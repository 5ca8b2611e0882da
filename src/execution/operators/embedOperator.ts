import { z } from 'zod';
import { compileExpression, type EmbedNode, isArray, toText } from '../../aql/index.js';
import type { JsonValue } from '../../base/index.js';
import type { Block, Operator, Row } from '../Block.js';
import { chunked } from '../chunked.js';
import { executionError } from '../errors.js';
import { CallOptions } from '../inference/CallOptions.js';
import { countEmbedded } from '../QueryStats.js';
import type { SequenceContext } from '../SequenceContext.js';
import { guardsHold } from './guardsHold.js';
import { warnOfCut } from './warnOfCut.js';

const schema = z.object({
  dimensions: z.int().min(1).optional(),
  truncate: z.boolean().default(false),
  normalize: z.boolean().default(true),
});
type Options = z.infer<typeof schema>;

interface Asked {
  readonly input: JsonValue;
  readonly options: Options;
  /** Equal for equal options. */
  readonly key: string;
}

/** Texts that are embedded alike. */
interface Group {
  readonly options: Options;
  readonly texts: Set<string>;
}

type Vectors = ReadonlyMap<string, JsonValue>;

/**
 * EMBED of a block at a time, on this shard's engine: each distinct text once, `embedTextsMax` texts a request (paper §IV-E). A text gives
 * a vector, an array a list of vectors, null null. A text that OPTIONS {truncate} cuts is a warning.
 */
export function embedOperator(node: EmbedNode, context: SequenceContext): Operator {
  const compiled = compileExpression(node.input);
  const options = new CallOptions({ call: 'EMBED', schema, expression: node.options }, context);
  const askedOf = (row: Row): Asked | undefined => {
    if (!guardsHold(node.guards, row)) return undefined;
    const own = options.of(row);
    return { input: compiled(row, context.evaluation), options: own, key: JSON.stringify(own) };
  };
  return async function* (input) {
    for await (const block of input) {
      const asked = block.map(askedOf);
      const vectors = new Map<string, Vectors>();
      for (const [key, group] of groupsOf(asked)) vectors.set(key, await embedTexts(node, group, context));
      setVectors(node, block, asked, vectors);
      await context.pacer.pace();
      yield block;
    }
  };
}

const groupsOf = (asked: readonly (Asked | undefined)[]): ReadonlyMap<string, Group> => {
  const groups = new Map<string, Group>();
  for (const each of asked) {
    if (each === undefined) continue;
    const group = groups.get(each.key) ?? { options: each.options, texts: new Set() };
    groups.set(each.key, group);
    for (const text of textsOf(each.input)) group.texts.add(text);
  }
  return groups;
};

const textsOf = (input: JsonValue): readonly string[] => {
  if (input === null) return [];
  if (!isArray(input)) return [toText(input)];
  if (input.some((item) => item === null)) throw executionError('EMBED_INPUT_INVALID', 'EMBED of an array takes texts, not null');
  return input.map(toText);
};

async function embedTexts(node: EmbedNode, { texts, options: asked }: Group, context: SequenceContext): Promise<Vectors> {
  const vectors = new Map<string, JsonValue>();
  const { stats, options } = context;
  for (const batch of chunked([...texts], options.embedTextsMax)) {
    const requestId = `${context.queryId}:embed:${stats.embed.requests}`;
    const result = await context.models.embed({ requestId, model: node.model, texts: batch, ...wishesOf(asked) }, context.signal);
    for (const [i, text] of batch.entries()) vectors.set(text, result.vectors[i] ?? null);
    stats.embed.requests++;
    stats.embed.texts += batch.length;
    stats.embed.promptTokens += result.promptTokens;
    countEmbedded(stats.embed, context.shardId, batch.length);
    warnOfCut('EMBED', result.tokensLeftOut, context);
  }
  return vectors;
}

const wishesOf = ({ dimensions, truncate, normalize }: Options) => ({
  ...(dimensions !== undefined && { dimensions }),
  ...(truncate && { truncate }),
  ...(!normalize && { normalize }),
});

function setVectors(node: EmbedNode, block: Block, asked: readonly (Asked | undefined)[], vectors: ReadonlyMap<string, Vectors>): void {
  for (const [i, row] of block.entries()) {
    const each = asked[i];
    const own = each && vectors.get(each.key);
    (row as Row)[node.variable] = each === undefined ? null : resultOf(each.input, (text) => own?.get(toText(text)) ?? null);
  }
}

const resultOf = (input: JsonValue, vectorOf: (text: JsonValue) => JsonValue): JsonValue => {
  if (input === null) return null;
  return isArray(input) ? input.map(vectorOf) : vectorOf(input);
};
