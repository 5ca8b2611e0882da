import { z } from 'zod';
import type { ClusterModelService } from '../../cooperation/index.js';
import { checkBody } from '../checkBody.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';
import { tokenIds } from './tokenIds.js';

const model = z.string().min(1).max(256).default('default');
const tokenizeBody = z.strictObject({ model, prompt: z.string().max(1_048_576), add_special_tokens: z.literal(false).optional() });
const detokenizeBody = z.strictObject({ model, tokens: tokenIds({ min: 0, max: 1_048_576 }) });

/** POST /tokenize and /detokenize, as vLLM has them: ids of a text as user text, and back. */
export function tokenRoutes({ models }: { readonly models: ClusterModelService }): readonly Route[] {
  const style = 'openai' as const;
  return [
    {
      method: 'POST',
      pattern: '/tokenize',
      style,
      handle: async (context) => {
        const body = checkBody(tokenizeBody, context.json());
        const tokens = await models.tokenize(body.model, body.prompt, context.signal);
        return responses.json(200, { count: tokens.length, tokens });
      },
    },
    {
      method: 'POST',
      pattern: '/detokenize',
      style,
      handle: async (context) => {
        const body = checkBody(detokenizeBody, context.json());
        return responses.json(200, { prompt: await models.detokenize(body.model, body.tokens, context.signal) });
      },
    },
  ];
}
