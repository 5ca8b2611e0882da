import { utf8 } from '../../base/index.js';
import type { RoutingReport } from '../../cooperation/index.js';
import type { AnswerLogprob, GenerateTiming, TokenLogprob, TokenUsage } from '../../platform/index.js';

const tokenOf = ({ bytes, logprob }: TokenLogprob) => ({ token: utf8.decode(Uint8Array.from(bytes)), logprob, bytes });

/** Parts of OpenAI's answers that several endpoints share. `ostraka` fields are ours: who answered and how long it took. */
export const openAiFields = {
  usage: (usage: TokenUsage) => ({
    prompt_tokens: usage.promptTokens,
    completion_tokens: usage.completionTokens,
    total_tokens: usage.promptTokens + usage.completionTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedTokens },
  }),

  /** Of `choices` answers to each prompt, in order: a prompt counts once, however many answers it has. */
  usageOf: (usages: readonly TokenUsage[], choices: number): TokenUsage => {
    const firsts = usages.filter((_, index) => index % choices === 0);
    return {
      promptTokens: firsts.reduce((sum, { promptTokens }) => sum + promptTokens, 0),
      completionTokens: usages.reduce((sum, { completionTokens }) => sum + completionTokens, 0),
      cachedTokens: firsts.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0),
    };
  },

  routing: (routing: RoutingReport) => ({
    shard: routing.shardId,
    adapter: routing.adapter?.digest ?? null,
    adapter_scale: routing.adapter?.scale ?? null,
    routing: { decision: routing.decision, score: routing.score, tier: routing.tier ?? null, fallback: routing.fallback ?? null },
  }),

  timing: ({ queueMs, firstTokenMs, totalMs }: GenerateTiming) => ({ queue_ms: queueMs, ttft_ms: firstTokenMs, total_ms: totalMs }),

  /** Of chat answers: tokens with their bytes, since a token may be a part of a character. */
  chatLogprobs: (logprobs: readonly AnswerLogprob[] | undefined) =>
    logprobs === undefined
      ? null
      : { content: logprobs.map((each) => ({ ...tokenOf(each), top_logprobs: each.top.map(tokenOf) })), refusal: null },

  /** Of text completions: parallel lists; `offset` is where the answer begins in the text that is shown. */
  textLogprobs: (logprobs: readonly AnswerLogprob[] | undefined, offset: number) => {
    if (logprobs === undefined) return null;
    const texts = logprobs.map((each) => tokenOf(each).token);
    let at = offset;
    return {
      tokens: texts,
      token_logprobs: logprobs.map(({ logprob }) => logprob),
      top_logprobs: logprobs.map(({ top }) => Object.fromEntries(top.map((each) => [tokenOf(each).token, each.logprob]))),
      text_offset: texts.map((text) => {
        const start = at;
        at += text.length;
        return start;
      }),
    };
  },
} as const;
