import type { JsonValue } from '../src/base/index.js';
import type { StepBackend } from '../src/platform/index.js';
import { LlamaEmbeddingBackend, LlamaStepBackend, NodeClock, NodeRandom, NodeStepPacer, PinoLogger } from '../src/platform/node/index.js';
import { type AssembledEngine, assembleEngine } from '../src/shard/index.js';
import { modelFile } from './modelFile.js';

/** The engine in this process, on the models that OSTRAKA_TEST_CHAT_MODEL and OSTRAKA_TEST_EMBEDDING_MODEL name; `wrap` may look at what it asks of the chat model. */
export function openBenchEngine(
  bounds: { readonly sequences: number; readonly contextTokens: number; readonly threads: number },
  inference: { readonly [option: string]: JsonValue } = {},
  wrap: (backend: StepBackend) => StepBackend = (backend) => backend,
): AssembledEngine {
  const [chatModel, embeddingModel] = [modelFile('OSTRAKA_TEST_CHAT_MODEL'), modelFile('OSTRAKA_TEST_EMBEDDING_MODEL')];
  return assembleEngine(
    { chatModel, embeddingModel, queueRequestsMax: 64, inference, ...bounds },
    {
      stepBackend: wrap(LlamaStepBackend.open({ model: chatModel, ...bounds })),
      embeddingBackend: LlamaEmbeddingBackend.open({ model: embeddingModel, threads: 1 }),
      pacer: new NodeStepPacer(),
      clock: new NodeClock(),
      random: new NodeRandom(),
      logger: PinoLogger.open({ level: 'warn', destination: 2 }),
    },
  );
}
