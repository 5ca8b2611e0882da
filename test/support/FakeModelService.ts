import {
  type EmbedResult,
  type EngineFigures,
  type GenerateEvent,
  type GenerateRequest,
  idleLoad,
  type LoadedAdapter,
  type LoadReport,
  type ModelFacts,
  type ModelService,
  noEngineFigures,
  noPrefixExchange,
  type RerankResult,
} from '../../src/platform/index.js';

/** The end of an answer. */
export const finished: GenerateEvent = {
  kind: 'finished',
  finishReason: 'stop',
  usage: { promptTokens: 1, completionTokens: 1, cachedTokens: 0 },
  timing: { queueMs: 0, firstTokenMs: 1, totalMs: 2 },
};

/** A model that generates what a function yields. */
export class FakeModelService implements ModelService {
  readonly abilities = { sameTextUnderLoad: true, adapters: true, prefixes: false };
  readonly prefixes = noPrefixExchange;
  readonly requests: GenerateRequest[] = [];
  answer: (request: GenerateRequest, signal: AbortSignal) => AsyncIterable<GenerateEvent>;

  constructor(answer: (request: GenerateRequest, signal: AbortSignal) => AsyncIterable<GenerateEvent>) {
    this.answer = answer;
  }

  models(): readonly ModelFacts[] {
    return [];
  }
  generate(request: GenerateRequest, signal: AbortSignal): AsyncIterable<GenerateEvent> {
    this.requests.push(request);
    return this.answer(request, signal);
  }
  async embed(): Promise<EmbedResult> {
    return { vectors: [[1, 0]], promptTokens: 1 };
  }
  async rerank(): Promise<RerankResult> {
    return { scores: [1], promptTokens: 1 };
  }
  figures(): EngineFigures {
    return noEngineFigures;
  }
  async tokenize(): Promise<readonly number[]> {
    return [1];
  }
  async detokenize(): Promise<string> {
    return 'x';
  }
  async loadAdapter(): Promise<LoadedAdapter> {
    return { digest: '', modelDigest: '', scale: 1 };
  }
  async unloadAdapter(): Promise<void> {}
  adapters(): readonly LoadedAdapter[] {
    return [];
  }
  load(): LoadReport {
    return idleLoad(1);
  }
}
