import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toOstrakaError } from '../../src/base/index.js';
import { type ChatMessage, type GenerateRequest, type ModelService, plainSampling } from '../../src/platform/index.js';

interface Body {
  readonly model: string;
  readonly messages?: readonly ChatMessage[];
  readonly prompt?: string;
  readonly max_tokens?: number;
  readonly ignore_eos?: boolean;
  readonly stop?: readonly string[];
  readonly input?: readonly string[];
  readonly tokens?: readonly number[];
}

/** Answers a request before the model does; false: it did not. */
export type Script = (request: IncomingMessage, response: ServerResponse) => boolean;

/** A model server with the API of OpenAI over any ModelService, and what a script says. */
export class OpenAiServer {
  readonly url: string;
  readonly keys: (string | undefined)[] = [];
  script: Script = () => false;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(service: ModelService): Promise<OpenAiServer> {
    const server = createServer((request, response) => {
      opened.keys.push(request.headers.authorization);
      if (opened.script(request, response)) return;
      answer(service, request, response).catch((thrown: unknown) => {
        const { code, message, httpStatus } = toOstrakaError(thrown);
        if (response.headersSent) response.destroy();
        else json(response, { error: { message, code: code.toLowerCase() } }, httpStatus);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const opened = new OpenAiServer(server);
    return opened;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const json = (response: ServerResponse, body: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};

const answer = async (service: ModelService, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const body = await readBody(request);
  const { signal } = gone;
  if (request.url === '/v1/models') json(response, { object: 'list', data: service.models().map(({ name }) => ({ id: name })) });
  else if (request.url === '/tokenize') json(response, { tokens: await service.tokenize('default', body.prompt ?? '', signal) });
  else if (request.url === '/detokenize') json(response, { prompt: await service.detokenize('default', body.tokens ?? [], signal) });
  else if (request.url === '/v1/embeddings') json(response, await embed(service, body, signal));
  else await stream(service, body, { response, signal });
};

const readBody = async (request: IncomingMessage): Promise<Body> => {
  let text = '';
  for await (const piece of request) text += String(piece);
  return JSON.parse(text || '{}') as Body;
};

/** Backwards, and twice as long as vectors of unit length: both are for the reader to put right. */
const embed = async (service: ModelService, { input = [], model }: Body, signal: AbortSignal) => {
  const { vectors, promptTokens } = await service.embed({ requestId: 'e', model, texts: input }, signal);
  const data = vectors.map((vector, index) => ({ index, embedding: vector.map((value) => 2 * value) }));
  return { data: data.reverse(), usage: { prompt_tokens: promptTokens } };
};

const toRequest = (body: Body): GenerateRequest => ({
  requestId: 'r',
  model: body.model,
  messages: body.messages ?? [],
  ...(body.prompt !== undefined && { prompt: body.prompt }),
  sampling: { ...plainSampling, tokensMax: body.max_tokens ?? 16, stop: body.stop ?? [], ignoreEnd: body.ignore_eos ?? false },
  priority: 'normal',
});

const stream = async (
  service: ModelService,
  body: Body,
  { response, signal }: { readonly response: ServerResponse; readonly signal: AbortSignal },
): Promise<void> => {
  const send = (data: unknown): void => void response.write(`data: ${JSON.stringify(data)}\n\n`);
  for await (const event of service.generate(toRequest(body), signal)) {
    if (event.kind === 'admitted') response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': hello\n\n');
    else if (event.kind === 'text')
      send({ choices: [{ index: 0, delta: { content: event.text }, text: event.text, finish_reason: null }] });
    else if (event.kind === 'finished') {
      send({ choices: [{ index: 0, delta: {}, text: '', finish_reason: event.finishReason }] });
      send({ choices: [], usage: { prompt_tokens: event.usage.promptTokens, completion_tokens: event.usage.completionTokens } });
    }
  }
  response.end('data: [DONE]\n\n');
};
