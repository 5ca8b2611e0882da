import { toOstrakaError } from '../../base/index.js';
import type { EngineConfig, EngineLauncher, EngineProgress, LaunchedEngine } from '../../platform/index.js';
import { noModel } from '../../platform/index.js';
import type { JobProgress, ProgressRegistry } from './ProgressRegistry.js';

/** Tells of every engine that is started how far its models are loaded (R38). */
export class ReportingLauncher implements EngineLauncher {
  readonly #launcher: EngineLauncher;
  readonly #progress: ProgressRegistry;

  constructor(parts: { readonly launcher: EngineLauncher; readonly progress: ProgressRegistry }) {
    this.#launcher = parts.launcher;
    this.#progress = parts.progress;
  }

  async launch(config: EngineConfig, signal: AbortSignal, onProgress?: (progress: EngineProgress) => void): Promise<LaunchedEngine> {
    const job = this.#progress.start({ kind: 'model', title: `load ${namesOf(config)}`, unit: 'percent' });
    const phases = new PhaseShare(config);
    try {
      const launched = await this.#launcher.launch(config, signal, (progress) => {
        onProgress?.(progress);
        job.update({ done: phases.percentOf(progress), total: 100 });
      });
      job.update({ done: 100, total: 100 });
      job.end('done');
      return launched;
    } catch (error) {
      endFailed(job, error);
      throw error;
    }
  }
}

const endFailed = (job: JobProgress, thrown: unknown): void => {
  const { code } = toOstrakaError(thrown);
  if (code === 'CANCELLED') job.end('cancelled');
  else job.end('failed', code);
};

const namesOf = ({ chatModel, embeddingModel }: EngineConfig): string =>
  [chatModel, embeddingModel].flatMap(({ name }) => (name === noModel.name ? [] : [name])).join(' and ');

/** Phases follow each other; the warm-up counts for a twentieth. */
class PhaseShare {
  readonly #phases: readonly { readonly phase: EngineProgress['phase']; readonly share: number }[];

  constructor({ chatModel, embeddingModel }: EngineConfig) {
    const models = [
      { phase: 'chat model' as const, name: chatModel.name },
      { phase: 'embedding model' as const, name: embeddingModel.name },
    ].filter(({ name }) => name !== noModel.name);
    this.#phases = [...models.map(({ phase }) => ({ phase, share: 95 / models.length })), { phase: 'warm-up', share: 5 }];
  }

  percentOf({ phase, percent = 0 }: EngineProgress): number {
    const place = this.#phases.findIndex((one) => one.phase === phase);
    const before = this.#phases.slice(0, Math.max(0, place)).reduce((sum, { share }) => sum + share, 0);
    return Math.round(before + ((this.#phases[place]?.share ?? 0) * percent) / 100);
  }
}
