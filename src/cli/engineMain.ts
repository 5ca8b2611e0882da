// The engine child: models in llama.cpp, the scheduler, the channel to the shard that started it. Its configuration comes through the channel.
import { type EngineConfig, type EngineProgress, noModel } from '../platform/index.js';
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

type OnProgress = (progress: EngineProgress) => void;

const openChat = ({ chatModel: model, sequences, contextTokens, threads, gpuLayers = 0 }: EngineConfig, onProgress: OnProgress) =>
  model.name === noModel.name
    ? undefined
    : LlamaStepBackend.open({ gpuLayers, model, sequences, contextTokens, threads, onShare: percents('chat model', onProgress) });

const openEmbedding = ({ embeddingModel: model, threads }: EngineConfig, onProgress: OnProgress) =>
  model.name === noModel.name
    ? undefined
    : LlamaEmbeddingBackend.open({ model, threads, onShare: percents('embedding model', onProgress) });

serveEngine((config, onProgress) =>
  assembleEngine(config, {
    stepBackend: openChat(config, onProgress),
    embeddingBackend: openEmbedding(config, onProgress),
    pacer: new NodeStepPacer(),
    clock: new NodeClock(),
    random: new NodeRandom(),
    logger: PinoLogger.open({ level: 'warn', destination: 2 }),
  }),
);
