import { type GenerateEvent, plainSampling, platformError } from '../../platform/index.js';
import { ChildEngineLauncher, PinoLogger } from '../../platform/node/index.js';
import { resolveModel } from '../resolveModel.js';
import type { AnswerSource } from './evaluateAdapter.js';

const engine = { sequences: 2, contextTokens: 2_048, threads: 1, queueRequestsMax: 4, stopMsMax: 2_000, answerTokensMax: 32 } as const;

/** Answers of an engine of our own, for an adapter that no cluster has loaded yet. Errors: ADAPTER_INVALID and the engine's. */
export async function engineAnswers(options: {
  readonly adapter: string;
  readonly model: string;
  readonly embeddingModel: string;
  readonly engineMainPath: string;
}): Promise<AnswerSource> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const chatModel = await resolveModel({ nameOrFile: options.model, kind: 'chat', signal });
  const embeddingModel = await resolveModel({ nameOrFile: options.embeddingModel, kind: 'embedding', signal });
  const logger = PinoLogger.open({ level: 'error', destination: 2 });
  const launcher = new ChildEngineLauncher({ engineMainPath: options.engineMainPath, stopMsMax: engine.stopMsMax, logger });
  const launched = await launcher.launch({ chatModel, embeddingModel, ...engine }, signal);
  try {
    const adapter = await launched.modelService.loadAdapter({ path: options.adapter, scale: 1 }, signal);
    return {
      ask: async (question, { withAdapter }) => {
        const sampling = { ...plainSampling, tokensMax: engine.answerTokensMax };
        const request = {
          requestId: question,
          model: 'default',
          messages: [{ role: 'user' as const, content: question }],
          sampling,
          priority: 'normal' as const,
          streamed: false,
        };
        const events = launched.modelService.generate(withAdapter ? { ...request, adapter } : request, signal);
        return { ...(await readAnswer(events)), adapterDigest: withAdapter ? adapter.digest : undefined };
      },
      close: () => launched.stop(),
    };
  } catch (error) {
    await launched.stop();
    throw error;
  }
}

const readAnswer = async (events: AsyncIterable<GenerateEvent>) => {
  let text = '';
  for await (const event of events) {
    if (event.kind === 'text') text += event.text;
    if (event.kind !== 'finished') continue;
    const { firstTokenMs, totalMs } = event.timing;
    return { text, tokens: event.usage.completionTokens, firstTokenMs, totalMs };
  }
  throw platformError('ENGINE_LOST', 'the engine ended without finishing an answer');
};
