import { type Constraint, type GenerateRequest, plainSampling, platformError, type SamplingOptions } from '../index.js';

/** The path and body that ask an OpenAI-compatible server for an answer. Errors: ADAPTER_UNKNOWN, ENGINE_ABILITY_MISSING. */
export function toOpenAiBody(request: GenerateRequest, model: string): { readonly path: string; readonly body: object } {
  const { adapter, prompt, messages, sampling } = request;
  if (adapter !== undefined) throw platformError('ADAPTER_UNKNOWN', 'a model server behind a shard has no adapters of the cluster');
  const common = { model, stream: true, stream_options: { include_usage: true }, ...samplingFields(sampling) };
  if (prompt !== undefined) return { path: '/v1/completions', body: { ...common, prompt } };
  return { path: '/v1/chat/completions', body: { ...common, messages } };
}

/** Fields of OpenAI, then those that vLLM and llama-server know, only where they say something. */
const samplingFields = (sampling: SamplingOptions): object => ({
  max_tokens: sampling.tokensMax,
  temperature: sampling.temperature,
  ...changed(sampling, 'topP', 'top_p'),
  ...changed(sampling, 'presencePenalty', 'presence_penalty'),
  ...changed(sampling, 'frequencyPenalty', 'frequency_penalty'),
  ...changed(sampling, 'topK', 'top_k'),
  ...changed(sampling, 'minP', 'min_p'),
  ...changed(sampling, 'typicalP', 'typical_p'),
  ...changed(sampling, 'repetitionPenalty', 'repetition_penalty'),
  ...changed(sampling, 'tokensMin', 'min_tokens'),
  ...changed(sampling, 'ignoreEnd', 'ignore_eos'),
  ...(sampling.seed !== undefined && { seed: sampling.seed }),
  ...(sampling.stop.length > 0 && { stop: sampling.stop }),
  ...(sampling.stopTokens.length > 0 && { stop_token_ids: sampling.stopTokens }),
  ...(sampling.logitBias.length > 0 && { logit_bias: Object.fromEntries(sampling.logitBias.map(({ token, bias }) => [token, bias])) }),
  ...(sampling.constraint !== undefined && constraintField(sampling.constraint)),
  ...refuseLogprobs(sampling),
});

const changed = (sampling: SamplingOptions, name: keyof typeof plainSampling, field: string): object =>
  sampling[name] === plainSampling[name] ? {} : { [field]: sampling[name] };

/** Servers tell them in texts, not in the ids and bytes that are promised here. */
const refuseLogprobs = ({ logprobsTop }: SamplingOptions): object => {
  if (logprobsTop === undefined) return {};
  throw platformError('ENGINE_ABILITY_MISSING', 'probabilities of tokens are not passed on from a model server');
};

const constraintField = (constraint: Constraint): object => {
  if (constraint.kind === 'json') return { response_format: { type: 'json_object' } };
  if (constraint.kind === 'jsonSchema')
    return { response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: constraint.schema } } };
  throw platformError('ENGINE_ABILITY_MISSING', `a model server is not asked for answers of the form ${constraint.kind}`);
};
