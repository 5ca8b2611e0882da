// The engine child: models in llama.cpp, the scheduler, the channel to the shard that started it. Its configuration comes through the channel.
import {
  LlamaEmbeddingBackend,
  LlamaStepBackend,
  NodeClock,
  NodeRandom,
  NodeStepPacer,
  PinoLogger,
  serveEngine,
} from '../platform/node/engine.js';
import { assembleEngine } from '../shard/engine.js';

serveEngine((config) => {
  const { chatModel, embeddingModel, sequences, contextTokens, threads } = config;
  return assembleEngine(config, {
    stepBackend: LlamaStepBackend.open({ model: chatModel, sequences, contextTokens, threads }),
    embeddingBackend: LlamaEmbeddingBackend.open({ model: embeddingModel, threads }),
    pacer: new NodeStepPacer(),
    clock: new NodeClock(),
    random: new NodeRandom(),
    logger: PinoLogger.open({ level: 'warn', destination: 2 }),
  });
});
