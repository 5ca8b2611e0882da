import { type CompiledExpression, compileExpression, type InferNode, type PlanExpression, toText } from '../../aql/index.js';
import { type JsonValue, sha256Hex } from '../../base/index.js';
import type { ClusterRequest } from '../../cooperation/index.js';
import { plainSampling } from '../../platform/index.js';
import type { Row } from '../Block.js';
import { guardsHold } from '../operators/guardsHold.js';
import type { SequenceContext } from '../SequenceContext.js';
import { buildMessages, citationsOf } from './buildMessages.js';
import { type InferOptions, parseInferOptions } from './inferOptions.js';
import type { InferDetail } from './toInferResult.js';

/** One row's need of an answer. */
export interface InferCall {
  readonly options: InferOptions;
  readonly request: Omit<ClusterRequest, 'requestId'>;
  readonly detail: InferDetail | undefined;
  /** Rows with the same key share one request; undefined where equal requests may be answered differently. */
  readonly sharedKey: string | undefined;
}

/** Turns rows into calls: evaluates the parts of an Infer node, checks its options, builds the messages. */
export class InferCalls {
  readonly #node: InferNode;
  readonly #context: SequenceContext;
  readonly #parts: { readonly [Part in 'prompt' | 'domain' | 'system' | 'context' | 'options']: CompiledExpression | undefined };
  /** By JSON: options are nearly always the same in every row. */
  readonly #parsed = new Map<string, InferOptions>();

  constructor(node: InferNode, context: SequenceContext) {
    const compiled = (expression: PlanExpression | undefined) => expression && compileExpression(expression);
    this.#node = node;
    this.#context = context;
    this.#parts = {
      prompt: compiled(node.prompt),
      domain: compiled(node.domain),
      system: compiled(node.system),
      context: compiled(node.context),
      options: compiled(node.options),
    };
  }

  /** The options where a row is at hand to evaluate them in. */
  optionsOf(row: Row): InferOptions {
    const value = this.#value('options', row) ?? {};
    const text = JSON.stringify(value);
    const known = this.#parsed.get(text);
    if (known) return known;
    const { options, unknown } = parseInferOptions(value);
    for (const name of unknown) this.#context.warnings.add(1578, `unknown option '${name}' of INFER`);
    // Rows with ever new options would otherwise keep them all.
    if (this.#parsed.size < 100) this.#parsed.set(text, options);
    return options;
  }

  /** Undefined where no call is made: the branch is not taken, or the prompt is null. */
  callOf(row: Row): InferCall | undefined {
    if (!guardsHold(this.#node.guards, row)) return undefined;
    const prompt = this.#value('prompt', row) ?? null;
    if (prompt === null) return undefined;
    const options = this.optionsOf(row);
    const context = this.#value('context', row);
    const domain = this.#value('domain', row) ?? null;
    const messages = buildMessages({ prompt, system: this.#value('system', row) ?? null, context });
    const request = this.#request(messages, domain === null ? undefined : toText(domain), options);
    const citations = context === undefined ? undefined : citationsOf(context);
    const detail = options.detail ? { model: this.#node.model, domain: request.domain, citations } : undefined;
    return { options, request, detail, sharedKey: sharedKeyOf(request, detail, options) };
  }

  #value(part: 'prompt' | 'domain' | 'system' | 'context' | 'options', row: Row): JsonValue | undefined {
    return this.#parts[part]?.(row, this.#context.evaluation);
  }

  #request(messages: ClusterRequest['messages'], domain: string | undefined, options: InferOptions): Omit<ClusterRequest, 'requestId'> {
    const { route, seed } = options;
    return {
      model: this.#node.model,
      messages,
      ...(domain !== undefined && { domain }),
      sampling: {
        ...plainSampling,
        tokensMax: options.max_tokens,
        temperature: options.temperature,
        topP: options.top_p,
        topK: options.top_k,
        minP: options.min_p,
        typicalP: options.typical_p,
        repetitionPenalty: options.repetition_penalty,
        presencePenalty: options.presence_penalty,
        frequencyPenalty: options.frequency_penalty,
        ...(seed !== undefined && { seed }),
        stop: options.stop,
      },
      priority: options.priority,
      streamed: false,
      timeoutMs: options.timeout_ms,
      ...(route && { route: { fallback: route.fallback, ...(route.min_score !== undefined && { scoreMin: route.min_score }) } }),
    };
  }
}

const sharedKeyOf = (
  request: Omit<ClusterRequest, 'requestId'>,
  detail: InferDetail | undefined,
  options: InferOptions,
): string | undefined => {
  const { dedup, temperature, seed } = options;
  const shares = dedup === true || (dedup === 'auto' && (temperature === 0 || seed !== undefined));
  return shares ? sha256Hex(JSON.stringify([request, detail ?? null])) : undefined;
};
