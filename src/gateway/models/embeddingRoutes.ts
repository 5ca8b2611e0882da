import { z } from 'zod';
import { toBase64 } from '../../base/index.js';
import type { ClusterModelService } from '../../cooperation/index.js';
import { checkBody } from '../checkBody.js';
import { listOf } from '../listOf.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';
import { tokenIds } from './tokenIds.js';

const inputOf = (textsMax: number) => {
  const tokens = tokenIds({ min: 1, max: 1_048_576 });
  const several = <Item extends z.ZodType>(item: Item) => listOf(item, { min: 1, max: textsMax });
  const error = `must be a text, 1 to ${textsMax} texts, the token ids of a text (at least one), or 1 to ${textsMax} lists of them`;
  return z.union([z.string(), several(z.string()), tokens, several(tokens)], { error });
};

const bodyOf = (textsMax: number) =>
  z.strictObject({
    model: z.string().min(1).max(256),
    input: inputOf(textsMax),
    encoding_format: z.enum(['float', 'base64']).nullish(),
    dimensions: z.int().min(1).nullish(),
    truncate: z.boolean().nullish(),
    normalize: z.boolean().nullish(),
    user: z.string().nullish(),
  });

type Input = z.infer<ReturnType<typeof inputOf>>;

/**
 * POST /v1/embeddings in OpenAI's shape; vectors as numbers or as base64 of little-endian 32-bit floats. `truncate` and `normalize` are
 * those of TEI, except that an answer to a cut text says so: `truncated_tokens` of the text, and of all in `usage`.
 */
export function embeddingRoutes(parts: { readonly models: ClusterModelService; readonly textsMax: number }): readonly Route[] {
  const schema = bodyOf(parts.textsMax);
  return [
    {
      method: 'POST',
      pattern: '/v1/embeddings',
      style: 'openai',
      handle: async (context) => {
        const body = checkBody(schema, context.json());
        const { requestId, signal } = context;
        const result = await parts.models.embed({ requestId, model: body.model, ...textsOf(body.input), ...wishesOf(body) }, signal);
        const { vectors, promptTokens, tokensLeftOut } = result;
        const encode = body.encoding_format === 'base64' ? toFloatsBase64 : (vector: readonly number[]) => vector;
        const data = vectors.map((vector, index) => {
          const cut = tokensLeftOut?.[index] ?? 0;
          return { object: 'embedding', index, embedding: encode(vector), ...(cut > 0 && { truncated_tokens: cut }) };
        });
        const cut = tokensLeftOut?.reduce((total, tokens) => total + tokens, 0);
        const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens, ...(cut && { truncated_tokens: cut }) };
        return responses.json(200, { object: 'list', data, model: body.model, usage });
      },
    },
  ];
}

/** One text or many, as texts or as token ids. */
const textsOf = (input: Input): { readonly texts: readonly string[]; readonly tokens?: readonly (readonly number[])[] } => {
  if (typeof input === 'string') return { texts: [input] };
  const [first] = input;
  if (typeof first === 'string') return { texts: input as string[] };
  return { texts: [], tokens: typeof first === 'number' ? [input as number[]] : (input as number[][]) };
};

const wishesOf = ({ dimensions, truncate, normalize }: Omit<z.infer<ReturnType<typeof bodyOf>>, 'input'>) => ({
  ...(dimensions && { dimensions }),
  ...(truncate && { truncate }),
  ...(normalize === false && { normalize }),
});

const toFloatsBase64 = (vector: readonly number[]): string => {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [i, value] of vector.entries()) view.setFloat32(i * 4, value, true);
  return toBase64(new Uint8Array(view.buffer));
};
