import { OstrakaError, toOstrakaError } from '../../base/index.js';
import { type Clock, type EmbedRequest, type ModelFacts, platformError } from '../../platform/index.js';
import type { SequenceContext } from '../SequenceContext.js';
import type { EmbedCounts } from './EmbedCounts.js';
import type { EmbedRecipe } from './judgeRow.js';
import type { PlannedTask } from './planTask.js';

/** What a run uses of a query's context. */
export type RowContext = Pick<SequenceContext, 'evaluation' | 'models' | 'options' | 'pacer' | 'signal'>;

export interface TextsOfRowsParts {
  readonly id: string;
  readonly task: PlannedTask;
  readonly factsOf: (model: string) => ModelFacts | undefined;
  readonly clock: Clock;
  readonly context: RowContext;
  readonly onWait: (reason: string) => void;
}

/**
 * The texts of a run at this shard's engine: patient, so that whoever waits for an answer comes first. An engine that is lost or full is
 * asked again after a while; a text that is refused costs no other its vector.
 */
export class TextsOfRows {
  readonly #parts: TextsOfRowsParts;
  #requests = 0;

  constructor(parts: TextsOfRowsParts) {
    this.#parts = parts;
  }

  /** What vectors will be made of. Errors: MODEL_UNKNOWN, and what the engine says of the options. */
  async recipe(): Promise<EmbedRecipe> {
    const { task, factsOf } = this.#parts;
    const { normalize, dimensions } = task.options;
    // An engine that is being started has no facts yet, and one that is served on demand knows its dimensions once it is there.
    const [probe] = await this.#patiently(() => this.#embed([' '], this.#parts.context.signal)).then(({ vectors }) => vectors);
    const facts = factsOf(task.node.model);
    if (facts === undefined) throw platformError('MODEL_UNKNOWN', `no embedding model ${JSON.stringify(task.node.model)} is served here`);
    return { model: facts.digest, dimensions: dimensions ?? probe?.length ?? 0, normalize };
  }

  /** A vector of each text, or why it has none. */
  async vectors(
    texts: readonly string[],
    counts: EmbedCounts,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, readonly number[] | OstrakaError>> {
    const vectors = new Map<string, readonly number[] | OstrakaError>();
    let open = [...texts];
    while (open.length > 0) {
      const asked = open;
      const answer = await this.#patiently(() => this.#answer(asked, signal));
      if (answer instanceof OstrakaError) {
        const refused = answer.data['index'] as number;
        vectors.set(asked[refused] as string, answer);
        open = asked.filter((_, i) => i !== refused);
        continue;
      }
      for (const [i, text] of asked.entries()) vectors.set(text, answer.vectors[i] as readonly number[]);
      counts.asked.requests++;
      counts.asked.texts += asked.length;
      counts.asked.promptTokens += answer.promptTokens;
      counts.asked.cut += answer.tokensLeftOut?.filter((tokens) => tokens > 0).length ?? 0;
      break;
    }
    return vectors;
  }

  /** The answer, or the error that is about one of the texts. */
  async #answer(texts: readonly string[], signal: AbortSignal) {
    try {
      return await this.#embed(texts, signal);
    } catch (thrown) {
      const error = toOstrakaError(thrown);
      const { index } = error.data as { readonly index?: unknown };
      if (typeof index === 'number' && index >= 0 && index < texts.length) return error;
      throw thrown;
    }
  }

  #embed(texts: readonly string[], signal: AbortSignal) {
    const { id, task, context } = this.#parts;
    const { dimensions, normalize, truncate } = task.options;
    const request: EmbedRequest = {
      requestId: `${id}:embed:${this.#requests++}`,
      model: task.node.model,
      texts,
      isPatient: true,
      ...(dimensions !== undefined && { dimensions }),
      ...(truncate && { truncate }),
      ...(!normalize && { normalize }),
    };
    return context.models.embed(request, signal);
  }

  async #patiently<Value>(work: () => Promise<Value>): Promise<Value> {
    const { clock, context, onWait } = this.#parts;
    const { embedRetriesMax, embedRetryMs } = context.options;
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (thrown) {
        const error = toOstrakaError(thrown);
        if (!error.retryable || attempt >= embedRetriesMax || context.signal.aborted) throw thrown;
        onWait(error.code);
        await clock.sleep(embedRetryMs, context.signal);
      }
    }
  }
}
