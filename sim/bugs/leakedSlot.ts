import type { LaunchedEngine, ModelService } from '../../src/platform/index.js';
import type { PlantedBug } from './PlantedBug.js';

/** A request that is cancelled keeps its sequence for good. */
export const leakedSlot: PlantedBug = {
  wrapLauncher: (launcher) => ({
    launch: async (config, signal): Promise<LaunchedEngine> => {
      const engine = await launcher.launch(config, signal);
      return { ...engine, modelService: leaking(engine.modelService) };
    },
  }),
};

const leaking = (service: ModelService): ModelService => {
  let leaked = 0;
  return {
    abilities: service.abilities,
    prefixes: service.prefixes,
    models: () => service.models(),
    adapters: () => service.adapters(),
    figures: () => service.figures(),
    embed: (request, signal) => service.embed(request, signal),
    rerank: (request, signal) => service.rerank(request, signal),
    tokenize: (model, text, signal) => service.tokenize(model, text, signal),
    detokenize: (model, tokens, signal) => service.detokenize(model, tokens, signal),
    loadAdapter: (adapter, signal) => service.loadAdapter(adapter, signal),
    unloadAdapter: (adapter, signal) => service.unloadAdapter(adapter, signal),
    load: () => {
      const load = service.load();
      const sequencesBusy = Math.min(load.sequencesTotal, load.sequencesBusy + leaked);
      return { ...load, sequencesBusy, pendingLlmRequests: load.pendingLlmRequests + leaked };
    },
    generate: async function* (request, signal) {
      try {
        yield* service.generate(request, signal);
      } finally {
        if (signal.aborted) leaked++;
      }
    },
  };
};
