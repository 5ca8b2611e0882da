import { z } from 'zod';
import type { ClusterModelService } from '../../cooperation/index.js';
import type { Random, RerankResult } from '../../platform/index.js';
import { checkBody } from '../checkBody.js';
import type { Route } from '../Route.js';
import { responses } from '../responses.js';
import { newId } from './newId.js';

const document = z.union([z.string(), z.object({ text: z.string() })], { error: 'must be a text or an object with a text' });

const bodyOf = (documentsMax: number) =>
  z.strictObject({
    model: z.string().min(1).max(256),
    query: z.string(),
    documents: z.array(document).min(1).max(documentsMax),
    top_n: z.int().min(1).nullish(),
    return_documents: z.boolean().nullish(),
    method: z.enum(['cross-encoder', 'embedding']).nullish(),
    truncate: z.boolean().nullish(),
    user: z.string().nullish(),
  });

type Body = z.infer<ReturnType<typeof bodyOf>>;

/**
 * POST /v1/rerank in the shape of Jina and Cohere, also at /rerank and /v2/rerank, where clients of others look for it: the best documents
 * first. The default model must be a cross-encoder; `method: "embedding"` ranks by the vectors of an embedding model.
 */
export function rerankRoutes(parts: {
  readonly models: ClusterModelService;
  readonly random: Random;
  readonly documentsMax: number;
}): readonly Route[] {
  const schema = bodyOf(parts.documentsMax);
  const handle: Route['handle'] = async (context) => {
    const body = checkBody(schema, context.json());
    const { requestId, signal } = context;
    const { model, query } = body;
    const documents = body.documents.map((each) => (typeof each === 'string' ? each : each.text));
    const method = body.method === 'embedding' ? 'embedding' : 'crossEncoder';
    const request = { requestId, model, query, documents, method, truncate: body.truncate ?? false } as const;
    const result = await parts.models.rerank(request, signal);
    return responses.json(200, {
      id: newId('rerank-', parts.random),
      object: 'list',
      model,
      results: resultsOf(body, result),
      usage: usageOf(result),
    });
  };
  return ['/v1/rerank', '/v2/rerank', '/rerank'].map((pattern) => ({ method: 'POST', pattern, style: 'openai', handle }));
}

const resultsOf = ({ documents, top_n: topN, return_documents: withDocuments }: Body, { scores, tokensLeftOut }: RerankResult) =>
  scores
    .map((score, index) => ({ score, index }))
    .sort((left, right) => right.score - left.score || left.index - right.index)
    .slice(0, topN ?? scores.length)
    .map(({ score, index }) => {
      const [given, cut] = [documents[index], tokensLeftOut?.[index] ?? 0];
      return {
        index,
        relevance_score: score,
        ...(withDocuments && { document: typeof given === 'string' ? { text: given } : given }),
        ...(cut > 0 && { truncated_tokens: cut }),
      };
    });

const usageOf = ({ promptTokens, tokensLeftOut }: RerankResult) => {
  const cut = tokensLeftOut?.reduce((total, tokens) => total + tokens, 0);
  return { prompt_tokens: promptTokens, total_tokens: promptTokens, ...(cut && { truncated_tokens: cut }) };
};
