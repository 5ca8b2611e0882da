import { request as httpRequest } from 'node:http';

export interface StreamedChat {
  readonly text: string;
  readonly firstTokenMs: number;
  /** Times between two pieces of text, ms. */
  readonly gapsMs: readonly number[];
  readonly totalMs: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

interface Chunk {
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
}

/** One streamed chat over a connection of its own, as a user's program reads it. Rejects when the answer is refused or breaks off. */
export function streamChat(url: string, body: object): Promise<StreamedChat> {
  const text = JSON.stringify({ stream: true, stream_options: { include_usage: true }, ...body });
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text), connection: 'close' };
  return new Promise((resolve, reject) => {
    const beganMs = performance.now();
    const times: number[] = [];
    let answer = '';
    let usage: Chunk['usage'];
    const take = (line: string): void => {
      if (!line.startsWith('data: {')) return;
      const chunk = JSON.parse(line.slice(6)) as Chunk;
      usage = chunk.usage ?? usage;
      const content = chunk.choices?.[0]?.delta?.content;
      if (!content) return;
      answer += content;
      times.push(performance.now());
    };
    const request = httpRequest(`${url}/v1/chat/completions`, { method: 'POST', agent: false, headers }, (response) => {
      let rest = '';
      response.setEncoding('utf8').on('data', (data: string) => {
        const lines = (rest + data).split('\n');
        rest = lines.pop() as string;
        for (const line of lines) take(line);
      });
      response.on('error', reject).on('end', () => {
        if (response.statusCode !== 200 || !usage) return reject(new Error(`a chat failed: ${response.statusCode} ${rest.slice(0, 200)}`));
        const gapsMs = times.slice(1).map((atMs, index) => atMs - (times[index] as number));
        const [firstMs = performance.now()] = times;
        const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage;
        resolve({
          text: answer,
          firstTokenMs: firstMs - beganMs,
          gapsMs,
          totalMs: performance.now() - beganMs,
          promptTokens,
          completionTokens,
        });
      });
    });
    request.on('error', reject).end(text);
  });
}
