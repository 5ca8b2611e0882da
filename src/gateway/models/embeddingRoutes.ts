import { z } from 'zod';
import { toBase64 } from '../../base/index.js';
import type { ClusterModelService } from '../../cooperation/index.js';
import { checkBody } from '../checkBody.js';
import { gatewayError } from '../errors.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';

const bodyOf = (textsMax: number) =>
  z.strictObject({
    model: z.string().min(1).max(256),
    input: z.union([z.string(), z.array(z.string()).min(1).max(textsMax)], { error: `must be a text or 1 to ${textsMax} texts` }),
    encoding_format: z.enum(['float', 'base64']).nullish(),
    dimensions: z.int().min(1).nullish(),
    user: z.string().nullish(),
  });

/** POST /v1/embeddings in OpenAI's shape; vectors as numbers or as base64 of little-endian 32-bit floats. */
export function embeddingRoutes(parts: { readonly models: ClusterModelService; readonly textsMax: number }): readonly Route[] {
  const schema = bodyOf(parts.textsMax);
  return [
    {
      method: 'POST',
      pattern: '/v1/embeddings',
      style: 'openai',
      handle: async (context) => {
        const body = checkBody(schema, context.json());
        const texts = typeof body.input === 'string' ? [body.input] : body.input;
        const { requestId, signal } = context;
        const { vectors, promptTokens } = await parts.models.embed({ requestId, model: body.model, texts }, signal);
        checkDimensions(body.dimensions, vectors[0]?.length ?? 0);
        const encode = body.encoding_format === 'base64' ? toFloatsBase64 : (vector: readonly number[]) => vector;
        const data = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector) }));
        return responses.json(200, {
          object: 'list',
          data,
          model: body.model,
          usage: { prompt_tokens: promptTokens, total_tokens: promptTokens },
        });
      },
    },
  ];
}

const toFloatsBase64 = (vector: readonly number[]): string => {
  const view = new DataView(new ArrayBuffer(vector.length * 4));
  for (const [i, value] of vector.entries()) view.setFloat32(i * 4, value, true);
  return toBase64(new Uint8Array(view.buffer));
};

// The default model was not trained to be shortened: a cut vector would be a worse one without a word.
const checkDimensions = (wanted: number | null | undefined, actual: number): void => {
  if (wanted === null || wanted === undefined || wanted === actual) return;
  throw gatewayError('PARAMETER_BAD', `dimensions: the model gives ${actual}`, { data: { param: 'dimensions' } });
};
