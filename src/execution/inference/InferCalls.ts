import { type CompiledExpression, compileExpression, type InferNode, type PlanExpression, toText } from '../../aql/index.js';
import { isObject, type JsonValue, sha256Hex } from '../../base/index.js';
import type { ClusterRequest } from '../../cooperation/index.js';
import { type Constraint, plainSampling } from '../../platform/index.js';
import type { Row } from '../Block.js';
import { executionError } from '../errors.js';
import { guardsHold } from '../operators/guardsHold.js';
import type { SequenceContext } from '../SequenceContext.js';
import { buildMessages, citationsOf } from './buildMessages.js';
import { type InferOptions, parseInferOptions } from './inferOptions.js';
import type { InferForm } from './toInferResult.js';

/** One row's need of an answer. */
export interface InferCall {
  readonly options: InferOptions;
  readonly request: Omit<ClusterRequest, 'requestId'>;
  readonly form: InferForm;
  /** Rows with the same key share one request; undefined where equal requests may be answered differently. */
  readonly sharedKey: string | undefined;
}

type CallPart = 'prompt' | 'domain' | 'adapter' | 'system' | 'schema' | 'context' | 'options';

/** Turns rows into calls: evaluates the parts of an Infer node, checks its options, builds the messages. */
export class InferCalls {
  readonly #node: InferNode;
  readonly #context: SequenceContext;
  readonly #parts: { readonly [Part in CallPart]: CompiledExpression | undefined };
  /** By JSON: options are nearly always the same in every row. */
  readonly #parsed = new Map<string, InferOptions>();

  constructor(node: InferNode, context: SequenceContext) {
    const compiled = (expression: PlanExpression | undefined) => expression && compileExpression(expression);
    this.#node = node;
    this.#context = context;
    this.#parts = {
      prompt: compiled(node.prompt),
      domain: compiled(node.domain),
      adapter: compiled(node.adapter),
      system: compiled(node.system),
      schema: compiled(node.schema),
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
    const messages = buildMessages({ prompt, system: this.#value('system', row) ?? null, context });
    const constraint = constraintOf(this.#value('schema', row) ?? null, options);
    const request = this.#request(messages, { ...this.#routeOf(row, options), constraint }, options);
    const citations = context === undefined ? undefined : citationsOf(context);
    const detail = options.detail ? { model: this.#node.model, domain: request.domain, citations } : undefined;
    const form = { detail, isJson: constraint !== undefined };
    return { options, request, form, sharedKey: sharedKeyOf(request, form, options) };
  }

  /** An adapter that is named answers however small its gain, and nobody in its place. */
  #routeOf(row: Row, { route }: InferOptions): Pick<ClusterRequest, 'domain' | 'route'> {
    const adapter = this.#value('adapter', row) ?? null;
    if (adapter !== null) return { domain: adapterName(adapter), route: { fallback: 'fail', isNamed: true } };
    const domain = this.#value('domain', row) ?? null;
    return {
      ...(domain !== null && { domain: toText(domain) }),
      ...(route && { route: { fallback: route.fallback, ...(route.min_score !== undefined && { scoreMin: route.min_score }) } }),
    };
  }

  #value(part: CallPart, row: Row): JsonValue | undefined {
    return this.#parts[part]?.(row, this.#context.evaluation);
  }

  #request(
    messages: ClusterRequest['messages'],
    { constraint, ...routing }: Pick<ClusterRequest, 'domain' | 'route'> & { readonly constraint: Constraint | undefined },
    options: InferOptions,
  ): Omit<ClusterRequest, 'requestId'> {
    const { seed } = options;
    return {
      model: this.#node.model,
      messages,
      ...routing,
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
        ...(constraint && { constraint }),
      },
      priority: options.priority,
      streamed: false,
      timeoutMs: options.timeout_ms,
    };
  }
}

function adapterName(adapter: JsonValue): string {
  if (typeof adapter === 'string' && adapter !== '') return adapter;
  throw executionError('INFER_OPTION_INVALID', 'ADAPTER of INFER must be the name of an adapter', { data: { option: 'adapter' } });
}

/** A null schema binds nothing, like a null domain. */
function constraintOf(schema: JsonValue, { stop }: InferOptions): Constraint | undefined {
  if (schema === null) return undefined;
  if (stop.length > 0)
    throw executionError('INFER_OPTION_INVALID', 'a stop text would cut the answer of an INFER with SCHEMA', { data: { option: 'stop' } });
  if (!isObject(schema)) throw executionError('INFER_OPTION_INVALID', 'SCHEMA of INFER must be an object', { data: { option: 'schema' } });
  return { kind: 'jsonSchema', schema };
}

const sharedKeyOf = (request: Omit<ClusterRequest, 'requestId'>, form: InferForm, options: InferOptions): string | undefined => {
  const { dedup, temperature, seed } = options;
  const shares = dedup === true || (dedup === 'auto' && (temperature === 0 || seed !== undefined));
  return shares ? sha256Hex(JSON.stringify([request, form])) : undefined;
};
