import type { ClusterRequest } from '../../../cooperation/index.js';
import type { RouteContext } from '../../Route.js';
import { ChoiceStream } from '../ChoiceStream.js';
import type { CompletionParts } from '../CompletionParts.js';
import { choiceRequests } from '../choiceRequests.js';
import { newId } from '../newId.js';
import { routeFields } from '../routeFields.js';
import { toSchedule } from '../toSchedule.js';
import type { ChatAnswer } from './ChatAnswer.js';
import type { ChatAsk } from './ChatAsk.js';
import type { ChatEvent } from './ChatEvent.js';
import { chatEvents } from './chatEvents.js';
import { collectChat } from './collectChat.js';

/** A chat request on its way: its answers as they come, or at their ends. Either is read once. */
export class ChatCall {
  readonly #parts: CompletionParts;
  readonly #context: RouteContext;
  readonly #ask: ChatAsk;

  constructor(parts: CompletionParts, context: RouteContext, ask: ChatAsk) {
    this.#parts = parts;
    this.#context = context;
    this.#ask = ask;
  }

  events(): AsyncIterable<ChatEvent> {
    const choices = new ChoiceStream(this.#parts.models, choiceRequests(this.#request(), this.#ask.choices));
    const newCallId = (): string => newId('call_', this.#parts.random);
    const { tools, sampling } = this.#ask;
    return chatEvents(choices.events(this.#context.signal), { tools, hasForm: sampling.constraint !== undefined, newCallId });
  }

  answers(): Promise<readonly ChatAnswer[]> {
    return collectChat(this.events());
  }

  #request(): ClusterRequest {
    const { model, messages, tools, sampling } = this.#ask;
    return {
      requestId: this.#context.requestId,
      model,
      messages,
      ...(tools && { tools }),
      ...routeFields.toRoute(this.#ask, this.#context.request.headers),
      sampling,
      ...toSchedule(this.#context.request, { streamed: this.#ask.stream, timeoutMs: this.#parts.timeoutMs }),
    };
  }
}
