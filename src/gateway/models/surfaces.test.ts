import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ManualClock } from '../../../test/support/ManualClock.js';
import { CountingRandom } from '../../../test/support/silentPorts.js';
import { asId, type JsonValue, type ShardId, utf8 } from '../../base/index.js';
import type { ClusterEvent, ClusterModelService, ClusterRequest } from '../../cooperation/index.js';
import { toolCallForm } from '../../platform/index.js';
import { gatewayOptions } from '../options.js';
import type { Route, RouteContext } from '../Route.js';
import type { CompletionParts } from './CompletionParts.js';
import { chatRoutes } from './chat/chatRoutes.js';
import { messageRoutes } from './messages/messageRoutes.js';
import { responseRoutes } from './responses/responseRoutes.js';

/** What a client reads without knowing its shape. */
type Loose = ReturnType<typeof JSON.parse>;
type Json = { readonly [name: string]: JsonValue };
interface Script {
  readonly pieces: readonly string[];
  readonly finishReason: 'stop' | 'length';
  readonly stopText?: string;
  /** Each piece is a token of this probability. */
  readonly logprob?: number;
}

const routing = { shardId: asId<ShardId>('s'), decision: 'ring' as const, score: 0, tier: undefined };
const usage = { promptTokens: 9, completionTokens: 5, cachedTokens: 4 };
const timing = { queueMs: 0, firstTokenMs: 1, totalMs: 2 };

const parts = (script: Script, asked: ClusterRequest[] = []): CompletionParts => {
  const generate = async function* (request: ClusterRequest): AsyncGenerator<ClusterEvent> {
    asked.push(request);
    yield { kind: 'routed', routing };
    yield { kind: 'admitted', promptTokens: usage.promptTokens };
    for (const text of script.pieces) {
      const told = { token: 1, bytes: [...utf8.encode(text)], logprob: script.logprob ?? 0, top: [] };
      yield { kind: 'text', text, tokens: 1, ...(script.logprob !== undefined && { logprobs: [told] }) };
    }
    const stop = script.stopText === undefined ? {} : { stopText: script.stopText };
    yield { kind: 'finished', finishReason: script.finishReason, ...stop, usage, timing };
  };
  const models = { generate } as unknown as ClusterModelService;
  const limits = gatewayOptions.parse({});
  return { models, clock: new ManualClock(), random: new CountingRandom(), timeoutMs: 1000, pingMs: 15_000, limits };
};

const post = async (routes: readonly Route[], pattern: string, body: Json): Promise<string> => {
  const route = routes.find((each) => each.pattern === pattern) as Route;
  const context = { json: () => body, request: { headers: {} }, requestId: 'r', signal: new AbortController().signal };
  const response = await route.handle(context as unknown as RouteContext);
  if (typeof response.body === 'string') return response.body;
  let text = '';
  for await (const piece of response.body as AsyncIterable<Uint8Array>) text += utf8.decode(piece);
  return text;
};

/** Bodies of the events, whose names are their types. */
const eventsOf = (text: string): readonly Loose[] =>
  text.split('\n\n').flatMap((block) => {
    const lines = block.split('\n');
    const data = lines.find((line) => line.startsWith('data: '))?.slice(6);
    if (data === undefined || data === '[DONE]') return [];
    const name = lines.find((line) => line.startsWith('event: '))?.slice(7);
    const body = JSON.parse(data);
    if (name !== undefined) expect(body.type).toBe(name);
    return [body];
  });

const functionTool = { name: 'f', description: 'd', parameters: { type: 'object' } };
const chatBody = { model: 'm', messages: [{ role: 'user', content: 'q' }], tools: [{ type: 'function', function: functionTool }] };
const responseBody = { model: 'm', input: 'q', tools: [{ type: 'function', ...functionTool }] };
const messageBody = {
  model: 'm',
  max_tokens: 50,
  messages: [{ role: 'user', content: 'q' }],
  tools: [{ name: 'f', description: 'd', input_schema: { type: 'object' } }],
};

/** Texts with calls or without, whole or cut, in any pieces. */
const scripts: fc.Arbitrary<Script> = fc
  .record({
    text: fc.string({ unit: fc.constantFrom('a', ' ', '\n', '<', 'é'), maxLength: 8 }),
    calls: fc.array(fc.dictionary(fc.string({ maxLength: 3 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 }), { maxLength: 3 }),
    cut: fc.option(fc.nat({ max: 60 }), { nil: undefined }),
    sizes: fc
      .infiniteStream(fc.integer({ min: 1, max: 9 }))
      .map((stream) => Array.from({ length: 400 }, () => stream.next().value as number)),
  })
  .map(({ text, calls, cut, sizes }) => {
    const { opening, beforeName, beforeArguments, afterArguments, between } = toolCallForm;
    const written = calls.map((value) => `${opening}${beforeName}f${beforeArguments}${JSON.stringify(value)}${afterArguments}`);
    const whole = text + written.join(between);
    const answer = cut === undefined ? whole : whole.slice(0, cut);
    const pieces: string[] = [];
    for (let at = 0; at < answer.length; at += pieces.at(-1)?.length ?? 0)
      pieces.push(answer.slice(at, at + (sizes[pieces.length % 400] as number)));
    return { pieces, finishReason: cut === undefined ? 'stop' : 'length' };
  });

const isOrdered = (values: readonly number[]): boolean => values.every((value, index) => value === index);

describe('a streamed answer is the whole one', () => {
  it('of chat completions, with calls, reasons and usage', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, async (script) => {
        const whole = JSON.parse(await post(chatRoutes(parts(script)), '/v1/chat/completions', chatBody));
        const streamBody = { ...chatBody, stream: true, stream_options: { include_usage: true } };
        const text = await post(chatRoutes(parts(script)), '/v1/chat/completions', streamBody);
        expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
        let content = '';
        let reason: unknown = null;
        const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = [];
        const chunks = eventsOf(text) as readonly { choices: { delta: Loose; finish_reason: string | null }[]; usage: unknown }[];
        for (const { choices } of chunks)
          for (const { delta, finish_reason } of choices) {
            content += delta.content ?? '';
            reason = finish_reason ?? reason;
            for (const { index, ...call } of delta.tool_calls ?? []) {
              if (call.id !== undefined) calls[index] = call;
              else (calls[index] as (typeof calls)[number]).function.arguments += call.function.arguments;
            }
          }
        const [{ message, finish_reason }] = whole.choices;
        expect([content, calls, reason]).toEqual([message.content ?? '', message.tool_calls ?? [], finish_reason]);
        expect(chunks.map((chunk) => chunk.usage)).toEqual([...chunks.slice(1).map(() => null), whole.usage]);
        expect(whole.usage).toMatchObject({ prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 });
      }),
      { numRuns: 100 },
    );
  });

  it('of chat completions, with the log-probabilities of all tokens, those of calls too, and of several answers each by its index', async () => {
    const { opening, beforeName, beforeArguments, afterArguments } = toolCallForm;
    const pieces = ['I ', 'see ', opening, beforeName, 'f', beforeArguments, '{', '}', afterArguments];
    const script: Script = { pieces, finishReason: 'stop', logprob: -0.5 };
    const body = { ...chatBody, logprobs: true, n: 2 };
    const whole = JSON.parse(await post(chatRoutes(parts(script)), '/v1/chat/completions', body));
    const chunks = eventsOf(await post(chatRoutes(parts(script)), '/v1/chat/completions', { ...body, stream: true }));
    for (const index of [0, 1]) {
      const choices = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index);
      const tokens = choices.flatMap(({ logprobs }) => logprobs?.content ?? []).map(({ token }) => token);
      expect(tokens).toEqual(pieces);
      expect(whole.choices[index].logprobs.content.map(({ token }: Loose) => token)).toEqual(pieces);
      expect(choices.map(({ finish_reason }) => finish_reason)).toEqual([...choices.slice(1).map(() => null), 'tool_calls']);
    }
    expect(new Set(whole.choices.flatMap(({ message }: Loose) => message.tool_calls.map(({ id }: Loose) => id))).size).toBe(2);
  });

  it('of responses, with events in order and numbered', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, async (script) => {
        const whole = JSON.parse(await post(responseRoutes(parts(script)), '/v1/responses', responseBody));
        const text = await post(responseRoutes(parts(script)), '/v1/responses', { ...responseBody, stream: true });
        const events = eventsOf(text) as readonly {
          type: string;
          sequence_number: number;
          response: Loose;
          item: Loose;
          delta: string;
          output_index: number;
        }[];
        expect(isOrdered(events.map(({ sequence_number }) => sequence_number))).toBe(true);
        expect(events.slice(0, 2).map(({ type }) => type)).toEqual(['response.created', 'response.in_progress']);
        const last = events.at(-1) as (typeof events)[number];
        expect(last.type).toBe(script.finishReason === 'length' ? 'response.incomplete' : 'response.completed');
        expect(last.response).toEqual(whole);
        expect(events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item)).toEqual(whole.output);
        const deltas = whole.output.map((_: unknown, index: number) =>
          events
            .filter(({ type, output_index }) => type.endsWith('.delta') && output_index === index)
            .map(({ delta }) => delta)
            .join(''),
        );
        expect(deltas).toEqual(whole.output.map((item: Loose) => item.arguments ?? item.content[0].text));
      }),
      { numRuns: 100 },
    );
  });

  it('of messages, block by block', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, async (script) => {
        const whole = JSON.parse(await post(messageRoutes(parts(script)), '/v1/messages', messageBody));
        const text = await post(messageRoutes(parts(script)), '/v1/messages', { ...messageBody, stream: true });
        const events = eventsOf(text) as readonly {
          type: string;
          index: number;
          message: Loose;
          content_block: Loose;
          delta: Loose;
          usage: Loose;
        }[];
        const blocks: Loose[] = [];
        for (const event of events) {
          if (event.type === 'content_block_start') blocks[event.index] = { ...event.content_block, json: '' };
          if (event.type === 'content_block_delta') {
            blocks[event.index].text += event.delta.text ?? '';
            blocks[event.index].json += event.delta.partial_json ?? '';
          }
        }
        const input = (json: string): unknown => {
          try {
            return JSON.parse(json);
          } catch {
            return {};
          }
        };
        const content = blocks.map(({ type, text: words, id, name, json }) =>
          type === 'text' ? { type, text: words } : { type, id, name, input: input(json) },
        );
        const names = events.map(({ type }) => type);
        const delta = events.at(-2) as (typeof events)[number];
        expect([names[0], names[1], names.at(-2), names.at(-1)]).toEqual(['message_start', 'ping', 'message_delta', 'message_stop']);
        expect({ ...events[0]?.message, content, ...delta.delta, usage: delta.usage }).toEqual(whole);
        const starts = names.filter((name) => name === 'content_block_start').length;
        expect(names.filter((name) => name === 'content_block_stop')).toHaveLength(starts);
      }),
      { numRuns: 100 },
    );
  });
});

describe('each surface asks the same of the model', () => {
  const schema = { type: 'object', properties: { a: { type: 'integer' } } };
  it('with tools, a choice of one, history with calls and results', async () => {
    const script: Script = { pieces: ['x'], finishReason: 'stop' };
    const call = { id: 'c1', name: 'f', arguments: '{"a":1}' };
    const asked: ClusterRequest[] = [];
    await post(chatRoutes(parts(script, asked)), '/v1/chat/completions', {
      model: 'm',
      max_tokens: 50,
      messages: [
        { role: 'system', content: 's' },
        { role: 'user', content: 'q' },
        { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } }] },
        { role: 'tool', tool_call_id: 'c1', content: 'r' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'd', parameters: schema } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
    await post(responseRoutes(parts(script, asked)), '/v1/responses', {
      model: 'm',
      max_output_tokens: 50,
      instructions: 's',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'q' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'c1', output: 'r' },
      ],
      tools: [{ type: 'function', name: 'f', description: 'd', parameters: schema, strict: false }],
      tool_choice: { type: 'function', name: 'f' },
    });
    await post(messageRoutes(parts(script, asked)), '/v1/messages', {
      model: 'm',
      max_tokens: 50,
      system: 's',
      messages: [
        { role: 'user', content: 'q' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: { a: 1 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: 'r' }] }] },
      ],
      tools: [{ name: 'f', description: 'd', input_schema: schema }],
      tool_choice: { type: 'tool', name: 'f' },
    });
    expect(asked).toHaveLength(3);
    expect(asked[0]?.messages).toEqual([
      { role: 'system', content: 's' },
      { role: 'user', content: 'q' },
      { role: 'assistant', content: '', toolCalls: [call] },
      { role: 'tool', content: 'r', toolCallId: 'c1' },
    ]);
    expect(asked[0]?.tools).toMatchObject({ callable: ['f'], isRequired: true, callsMax: 1 });
    expect(asked[1]).toEqual(asked[0]);
    expect(asked[2]).toEqual(asked[0]);
  });

  it('says which stop string ended an answer', async () => {
    const script: Script = { pieces: ['x'], finishReason: 'stop', stopText: 'END' };
    const chat = JSON.parse(await post(chatRoutes(parts(script)), '/v1/chat/completions', chatBody));
    expect(chat.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: 'END' });
    const message = JSON.parse(await post(messageRoutes(parts(script)), '/v1/messages', messageBody));
    expect(message).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: 'END' });
  });

  it('counts the tokens of a prompt and computes nothing', async () => {
    let isRead = false;
    const counted = parts({ pieces: [], finishReason: 'stop' });
    const generate = async function* (): AsyncGenerator<ClusterEvent> {
      yield { kind: 'routed', routing };
      yield { kind: 'admitted', promptTokens: 77 };
      isRead = true;
    };
    const { max_tokens: _, ...body } = messageBody;
    const routes = messageRoutes({ ...counted, models: { generate } as unknown as ClusterModelService });
    expect(JSON.parse(await post(routes, '/v1/messages/count_tokens', body))).toEqual({ input_tokens: 77 });
    expect(isRead).toBe(false);
  });
});

describe('what a surface does not have is refused by its name', () => {
  const script: Script = { pieces: [], finishReason: 'stop' };
  const refusal = async (routes: readonly Route[], pattern: string, body: Json): Promise<unknown> => {
    try {
      await post(routes, pattern, body);
      return undefined;
    } catch (error) {
      const { code, data } = error as { readonly code: string; readonly data: { readonly param?: string } };
      return [code, data.param?.split('.')[0]];
    }
  };

  it.each<[Json, string, string]>([
    [{ previous_response_id: 'resp_1' }, 'RESPONSES_NOT_KEPT', 'previous_response_id'],
    [{ store: true }, 'RESPONSES_NOT_KEPT', 'store'],
    [{ conversation: 'c' }, 'RESPONSES_NOT_KEPT', 'conversation'],
    [{ background: true }, 'NOT_SUPPORTED', 'background'],
    [{ truncation: 'auto' }, 'NOT_SUPPORTED', 'truncation'],
    [{ include: ['message.output_text.logprobs'] }, 'NOT_SUPPORTED', 'include'],
    [{ tools: [{ type: 'web_search' }] }, 'PARAMETER_BAD', 'tools'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, 'RESPONSES_NOT_KEPT', 'input'],
    [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'PARAMETER_BAD', 'input'],
    [{ input: [{ type: 'function_call_output', call_id: 'none', output: 'x' }] }, 'PARAMETER_BAD', 'input'],
    [{ temprature: 1 }, 'PARAMETER_BAD', 'temprature'],
  ])('responses %j', async (fields, code, param) => {
    expect(await refusal(responseRoutes(parts(script)), '/v1/responses', { ...responseBody, ...fields })).toEqual([code, param]);
  });

  it.each<[Json, string, string]>([
    [{ max_tokens: 0 }, 'PARAMETER_BAD', 'max_tokens'],
    [{ messages: [{ role: 'user', content: [{ type: 'image', source: {} }] }] }, 'PARAMETER_BAD', 'messages'],
    [{ messages: [{ role: 'system', content: 'x' }] }, 'PARAMETER_BAD', 'messages'],
    [
      {
        messages: [
          { role: 'user', content: 'q' },
          { role: 'assistant', content: 'I' },
        ],
      },
      'PARAMETER_BAD',
      'messages',
    ],
    [{ messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'none' }] }] }, 'PARAMETER_BAD', 'messages'],
    [{ thinking: { type: 'enabled', budget_tokens: 1024 } }, 'NOT_SUPPORTED', 'thinking'],
    [{ tool_choice: { type: 'tool', name: 'g' } }, 'PARAMETER_BAD', 'tool_choice'],
    [{ temprature: 1 }, 'PARAMETER_BAD', 'temprature'],
  ])('messages %j', async (fields, code, param) => {
    expect(await refusal(messageRoutes(parts(script)), '/v1/messages', { ...messageBody, ...fields })).toEqual([code, param]);
  });

  it.each<[Json, string]>([
    [{ tool_choice: { type: 'function', function: { name: 'g' } } }, 'tool_choice'],
    [{ tools: [], tool_choice: 'required' }, 'tool_choice'],
    [{ tools: [{ type: 'custom', custom: { name: 'f' } }] }, 'tools'],
    [{ tools: [{ type: 'function', function: { name: 'not a name' } }] }, 'tools'],
    [{ tools: [...chatBody.tools, ...chatBody.tools] }, 'tools'],
    [{ guided_regex: 'a+' }, 'tools'],
    [{ messages: [{ role: 'tool', tool_call_id: 'c9', content: 'x' }] }, 'messages'],
    [{ messages: [{ role: 'assistant', content: null }] }, 'messages'],
    [{ n: 17 }, 'n'],
  ])('chat completions %j', async (fields, param) => {
    expect(await refusal(chatRoutes(parts(script)), '/v1/chat/completions', { ...chatBody, ...fields })).toEqual(['PARAMETER_BAD', param]);
  });
});
