import type { EmbedRequest, EmbedResult, ModelService, RerankRequest, RerankResult } from '../platform/index.js';
import type { ModelKind } from './KnownModel.js';

/** A call of ModelService that is answered once, as a whole. */
export interface SingleCall {
  readonly model: string;
  /** What the model must be; undefined: either does. */
  readonly kind: ModelKind | undefined;
  /** Of the calls that compute, what was asked: it may be the reason why an engine is lost. */
  readonly request?: EmbedRequest | RerankRequest;
  readonly signal: AbortSignal;
}

/** The calls of a ModelService that are answered once. Which engine answers, when, and how often it is asked is of `ask`. */
export abstract class SingleAnswers {
  protected abstract ask<Value>(call: SingleCall, work: (service: ModelService) => Promise<Value>): Promise<Value>;

  embed(request: EmbedRequest, signal: AbortSignal): Promise<EmbedResult> {
    const { model } = request;
    return this.ask({ model, kind: 'embedding', request, signal }, (service) => service.embed(request, signal));
  }

  rerank(request: RerankRequest, signal: AbortSignal): Promise<RerankResult> {
    const { model } = request;
    return this.ask({ model, kind: 'embedding', request, signal }, (service) => service.rerank(request, signal));
  }

  tokenize(model: string, text: string, signal: AbortSignal): Promise<readonly number[]> {
    return this.ask({ model, kind: undefined, signal }, (service) => service.tokenize(model, text, signal));
  }

  detokenize(model: string, tokens: readonly number[], signal: AbortSignal): Promise<string> {
    return this.ask({ model, kind: 'chat', signal }, (service) => service.detokenize(model, tokens, signal));
  }
}
