import { assert, assertNever, toOstrakaError } from '../../base/index.js';
import { type EngineConfig, type EngineProgress, type GenerateEvent, type ModelService, plainSampling } from '../index.js';
import type { EngineCall, EngineCommand, EngineItem, EngineMessage, EngineValue } from './engineMessages.js';
import { sendToShard } from './sendToShard.js';

const loadIntervalMs = 100;

/** Opens an engine; tells how far it is. May block. */
export type OpenEngine = (config: EngineConfig, onProgress: (progress: EngineProgress) => void) => ModelService | Promise<ModelService>;

/**
 * The child's end of the channel: opens an engine by the first message, warms it up, then answers calls. What one step emits crosses the
 * pipe as one message; load reports at most ten a second. The process ends when the channel closes, so no engine outlives its shard, and
 * ignores SIGINT, which a terminal sends to the whole group: the shard decides when its engine goes.
 */
export function serveEngine(open: OpenEngine): void {
  assert(process.send !== undefined, 'the engine runs as a child with an IPC channel');
  process.on('SIGINT', () => undefined);
  process.on('disconnect', () => process.exit(0));
  let server: EngineServer | undefined;
  process.on('message', (message: EngineCommand) => {
    if (message.kind === 'ping') send({ kind: 'pong' });
    else if (message.kind !== 'start') server?.receive(message);
    else
      start(open, message.config).then(
        (opened) => {
          server = opened;
        },
        (thrown: unknown) => endWith(thrown),
      );
  });
}

const send = (message: EngineMessage, onSent?: () => void): void => sendToShard(process, message, onSent);

async function start(open: OpenEngine, config: EngineConfig): Promise<EngineServer> {
  // Loading blocks the loop of this process; what is sent meanwhile goes out at once all the same.
  const tell = (progress: EngineProgress): void => send({ kind: 'progress', progress });
  const service = await open(config, tell);
  tell({ phase: 'warm-up' });
  await warmUp(service);
  const server = new EngineServer(service);
  send({
    kind: 'ready',
    facts: { models: service.models(), abilities: service.abilities },
    load: service.load(),
    figures: service.figures(),
  });
  return server;
}

function endWith(thrown: unknown): void {
  const error = toOstrakaError(thrown).toJson();
  send({ kind: 'failed', error }, () => process.exit(1));
}

/** One token, and one vector or score, of what it has: the first request then meets touched weights and reserved graphs. */
async function warmUp(service: ModelService): Promise<void> {
  const { signal } = new AbortController();
  const models = service.models();
  if (models.some(({ kind }) => kind === 'chat')) await warmUpChat(service, signal);
  const embedding = models.find(({ kind }) => kind === 'embedding');
  if (embedding === undefined) return;
  const text = { requestId: 'warm-up', model: 'default' };
  if (embedding.crossEncoder) await service.rerank({ ...text, query: 'Hello', documents: ['Hello'], method: 'crossEncoder' }, signal);
  else await service.embed({ ...text, texts: ['Hello'] }, signal);
}

async function warmUpChat(service: ModelService, signal: AbortSignal): Promise<void> {
  const sampling = { ...plainSampling, tokensMax: 2 };
  const request = { requestId: 'warm-up', model: 'default', messages: [], sampling, priority: 'normal' as const };
  const messages = [{ role: 'user' as const, content: 'Hello' }];
  try {
    await generateAll(service.generate({ ...request, messages }, signal));
  } catch (error) {
    // A template may want other messages than these, or more room, and a model serves plain prompts whatever becomes of its template.
    if (!['CHAT_REFUSED', 'CONTEXT_LENGTH_EXCEEDED'].includes(toOstrakaError(error).code)) throw error;
    await generateAll(service.generate({ ...request, prompt: 'Hello' }, signal));
  }
}

const generateAll = async (events: AsyncIterable<GenerateEvent>): Promise<void> => {
  for await (const event of events) if (event.kind === 'finished') break;
};

class EngineServer {
  readonly #service: ModelService;
  readonly #aborts = new Map<number, AbortController>();
  #items: EngineItem[] = [];
  #loadTimer: NodeJS.Timeout | undefined;
  #lastReports: string | undefined;

  constructor(service: ModelService) {
    this.#service = service;
  }

  receive(command: Extract<EngineCommand, { kind: 'call' | 'abort' }>): void {
    if (command.kind === 'abort') {
      this.#aborts.get(command.call)?.abort();
      return;
    }
    const abort = new AbortController();
    this.#aborts.set(command.call, abort);
    this.#answer(command.call, command.body, abort.signal).then(
      () => this.#aborts.delete(command.call),
      (thrown: unknown) => {
        this.#aborts.delete(command.call);
        this.#emit({ kind: 'error', call: command.call, error: toOstrakaError(thrown).toJson() });
      },
    );
  }

  async #answer(call: number, body: EngineCall, signal: AbortSignal): Promise<void> {
    if (body.kind !== 'generate') {
      this.#emit({ kind: 'value', call, value: await this.#valueOf(body, signal) });
      return;
    }
    for await (const event of this.#service.generate(body.request, signal)) this.#emit({ kind: 'event', call, event });
    this.#emit({ kind: 'end', call });
  }

  async #valueOf(body: Exclude<EngineCall, { kind: 'generate' }>, signal: AbortSignal): Promise<EngineValue> {
    switch (body.kind) {
      case 'embed':
        return this.#service.embed(body.request, signal);
      case 'rerank':
        return this.#service.rerank(body.request, signal);
      case 'tokenize':
        return this.#service.tokenize(body.model, body.text, signal);
      case 'detokenize':
        return this.#service.detokenize(body.model, body.tokens, signal);
      case 'loadAdapter':
        return this.#service.loadAdapter(body.adapter, signal);
      case 'unloadAdapter':
        await this.#service.unloadAdapter(body.adapter, signal);
        return null;
      case 'prefixOf':
        return (await this.#service.prefixes.prefixOf(body.request, signal)) ?? null;
      case 'readPrefix':
        return this.#service.prefixes.readPrefix(body.asked, signal);
      case 'writePrefix':
        return this.#service.prefixes.writePrefix(body.part, signal);
      default:
        return assertNever(body);
    }
  }

  /** Collects what the readers of one step emit: they all run as microtasks, and a tick comes after the last of these. */
  #emit(item: EngineItem): void {
    this.#items.push(item);
    if (this.#items.length === 1) process.nextTick(() => this.#flush());
  }

  #flush(): void {
    const items = this.#items;
    this.#items = [];
    send({ kind: 'batch', items });
    this.#loadTimer ??= setTimeout(() => this.#reportLoad(), loadIntervalMs);
  }

  #reportLoad(): void {
    this.#loadTimer = undefined;
    const reports = { load: this.#service.load(), figures: this.#service.figures() };
    const text = JSON.stringify(reports);
    if (text === this.#lastReports) return;
    this.#lastReports = text;
    send({ kind: 'load', ...reports });
  }
}
