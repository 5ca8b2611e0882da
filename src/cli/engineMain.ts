// The engine child: models in llama.cpp, the scheduler, the channel to the shard that started it. Its configuration comes through the channel.
import type { EngineProgress } from '../platform/index.js';
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

/** Tells each whole percent of a phase once. */
const percents = (phase: EngineProgress['phase'], onProgress: (progress: EngineProgress) => void) => {
  let last = -1;
  return (share: number): void => {
    const percent = Math.min(100, Math.floor(share * 100));
    if (percent <= last) return;
    last = percent;
    onProgress({ phase, percent });
  };
};

serveEngine((config, onProgress) => {
  const { chatModel, embeddingModel, sequences, contextTokens, threads, gpuLayers = 0 } = config;
  return assembleEngine(config, {
    stepBackend: LlamaStepBackend.open({
      gpuLayers,
      model: chatModel,
      sequences,
      contextTokens,
      threads,
      onShare: percents('chat model', onProgress),
    }),
    embeddingBackend: LlamaEmbeddingBackend.open({ model: embeddingModel, threads, onShare: percents('embedding model', onProgress) }),
    pacer: new NodeStepPacer(),
    clock: new NodeClock(),
    random: new NodeRandom(),
    logger: PinoLogger.open({ level: 'warn', destination: 2 }),
  });
});
