import { assertNever } from '../../../base/index.js';
import type { ClusterEvent } from '../../../cooperation/index.js';
import type { ToolUse } from '../../../platform/index.js';
import type { ChoiceEvent } from '../ChoiceStream.js';
import type { ChatEvent } from './ChatEvent.js';
import { type AnswerPart, ToolCallReader } from './ToolCallReader.js';

interface Options {
  readonly tools: ToolUse | undefined;
  /** The text of the answer has a form. */
  readonly hasForm: boolean;
  readonly newCallId: () => string;
}

/** The events of the cluster as those of chat answers. */
export async function* chatEvents(events: AsyncIterable<ChoiceEvent>, options: Options): AsyncGenerator<ChatEvent, void, void> {
  const answers = new Map<number, AnswerReader>();
  for await (const { index, event } of events) {
    const reader = answers.get(index) ?? new AnswerReader(index, options);
    answers.set(index, reader);
    yield* reader.read(event);
  }
}

/** One answer. Without tools its text is taken as it is. */
class AnswerReader {
  readonly #index: number;
  readonly #calls: ToolCallReader | undefined;
  readonly #newCallId: () => string;
  #isOpened = false;

  constructor(index: number, { tools, hasForm, newCallId }: Options) {
    this.#index = index;
    this.#newCallId = newCallId;
    this.#calls = tools && new ToolCallReader({ isRequired: tools.isRequired, isEither: hasForm });
  }

  read(event: ClusterEvent): readonly ChatEvent[] {
    const index = this.#index;
    switch (event.kind) {
      case 'routed':
        return [{ index, ...event }];
      case 'admitted':
        return this.#open(event.promptTokens);
      case 'text':
        return this.#text(event);
      case 'finished':
        return this.#finish(event);
      case 'progress':
        return [];
      default:
        return assertNever(event);
    }
  }

  /** Admitted again, an answer has another shard and no text yet. */
  #open(promptTokens: number): readonly ChatEvent[] {
    if (this.#isOpened) return [];
    this.#isOpened = true;
    return [{ index: this.#index, kind: 'opened', promptTokens }];
  }

  /** Log-probabilities are of all tokens, those of calls too; they go with the first text of their event, or with an empty one. */
  #text({ text, logprobs }: Extract<ClusterEvent, { readonly kind: 'text' }>): readonly ChatEvent[] {
    const events = this.#calls === undefined ? [this.#event({ kind: 'text', text })] : this.#calls.push(text).map(this.#event);
    if (logprobs === undefined) return events;
    const [first, ...others] = events;
    if (first?.kind === 'text') return [{ ...first, logprobs }, ...others];
    return [{ index: this.#index, kind: 'text', text: '', logprobs }, ...events];
  }

  #finish({ finishReason, ...rest }: Extract<ClusterEvent, { readonly kind: 'finished' }>): readonly ChatEvent[] {
    const last = (this.#calls?.finish() ?? []).map(this.#event);
    const isCalling = finishReason === 'stop' && (this.#calls?.hasWholeCalls ?? false);
    return [...last, { index: this.#index, ...rest, finishReason: isCalling ? 'tool_calls' : finishReason }];
  }

  readonly #event = (part: AnswerPart): ChatEvent =>
    part.kind === 'call' ? { index: this.#index, ...part, id: this.#newCallId() } : { index: this.#index, ...part };
}
