import { cliError } from '../errors.js';
import { HttpClient } from '../HttpClient.js';
import type { AnswerSource } from './evaluateAdapter.js';

interface ChatAnswer {
  readonly choices: readonly [{ readonly message: { readonly content: string } }];
  readonly usage: { readonly completion_tokens: number };
  readonly ostraka: {
    readonly adapter: string | null;
    readonly routing: { readonly decision: string };
    readonly timing: { readonly ttft_ms: number; readonly total_ms: number };
  };
}

const answerTokensMax = 32;

/** Answers of a running cluster: with the adapter = with the domain. Errors: USAGE when no shard has an adapter of the domain. */
export function clusterAnswers(options: { readonly url: string; readonly domain: string }): AnswerSource {
  const client = new HttpClient({ url: options.url });
  return {
    ask: async (question, { withAdapter }) => {
      const domain = withAdapter ? { domain: options.domain } : {};
      const answer = await client.request<ChatAnswer>('POST', '/v1/chat/completions', {
        model: 'default',
        messages: [{ role: 'user', content: question }],
        temperature: 0,
        max_tokens: answerTokensMax,
        ...domain,
      });
      const { adapter, routing, timing } = answer.ostraka;
      if (withAdapter && routing.decision !== 'domain')
        throw cliError('USAGE', `no shard has an adapter for domain ${options.domain} that qualifies`);
      return {
        text: answer.choices[0].message.content,
        tokens: answer.usage.completion_tokens,
        firstTokenMs: timing.ttft_ms,
        totalMs: timing.total_ms,
        adapterDigest: adapter ?? undefined,
      };
    },
    close: async () => undefined,
  };
}
