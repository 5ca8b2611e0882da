import { describe, expect, it } from 'vitest';
import { CountingRandom } from '../../../test/support/silentPorts.js';
import type { JsonValue } from '../../base/index.js';
import type { ClusterModelService } from '../../cooperation/index.js';
import type { EmbedRequest, EmbedResult, RerankRequest, RerankResult } from '../../platform/index.js';
import type { RouteContext } from '../Route.js';
import { embeddingRoutes } from './embeddingRoutes.js';
import { rerankRoutes } from './rerankRoutes.js';

type Loose = ReturnType<typeof JSON.parse>;

const open = (answers: { readonly embed?: EmbedResult; readonly rerank?: RerankResult }) => {
  const asked: (EmbedRequest | RerankRequest)[] = [];
  const answer = (name: 'embed' | 'rerank') => async (request: EmbedRequest | RerankRequest) => {
    asked.push(request);
    return answers[name];
  };
  const models = { embed: answer('embed'), rerank: answer('rerank') } as unknown as ClusterModelService;
  const routes = [...embeddingRoutes({ models, textsMax: 3 }), ...rerankRoutes({ models, random: new CountingRandom(), documentsMax: 3 })];
  const post = async (pattern: string, body: JsonValue): Promise<Loose> => {
    const context = { json: () => body, requestId: 'r', signal: new AbortController().signal } as unknown as RouteContext;
    const response = await routes.find((route) => route.pattern === pattern)?.handle(context);
    return JSON.parse(response?.body as string);
  };
  return { asked, post };
};

const bad = (param: RegExp) => expect.objectContaining({ code: 'PARAMETER_BAD', data: { param: expect.stringMatching(param) } });

describe('POST /v1/embeddings (R23)', () => {
  const vectors = [
    [0.6, -0.8],
    [1, 0],
  ];

  it('takes a text, texts, the tokens of a text, or of several, and nothing else', async () => {
    const { asked, post } = open({ embed: { vectors, promptTokens: 4 } });
    const inputs: readonly JsonValue[] = ['a', ['a', 'b'], [5, 6], [[5, 6], [7]]];
    for (const input of inputs) await post('/v1/embeddings', { model: 'm', input });
    expect(asked).toEqual([
      { requestId: 'r', model: 'm', texts: ['a'] },
      { requestId: 'r', model: 'm', texts: ['a', 'b'] },
      { requestId: 'r', model: 'm', texts: [], tokens: [[5, 6]] },
      { requestId: 'r', model: 'm', texts: [], tokens: [[5, 6], [7]] },
    ]);
    const wrong: readonly JsonValue[] = [
      null,
      5,
      [],
      [[]],
      ['a', 5],
      [5, 'a'],
      [[5], 'a'],
      [-1],
      [1.5],
      ['a', 'b', 'c', 'd'],
      { text: 'a' },
    ];
    for (const input of wrong)
      await expect(post('/v1/embeddings', { model: 'm', input }), JSON.stringify(input)).rejects.toEqual(bad(/^input/));
  });

  it('passes wishes on, and says which texts were cut and by how much', async () => {
    const { asked, post } = open({ embed: { vectors, promptTokens: 4, tokensLeftOut: [0, 9] } });
    const body = { model: 'm', input: ['a', 'b'], dimensions: 2, truncate: true, normalize: false };
    expect(await post('/v1/embeddings', body)).toEqual({
      object: 'list',
      model: 'm',
      data: [
        { object: 'embedding', index: 0, embedding: vectors[0] },
        { object: 'embedding', index: 1, embedding: vectors[1], truncated_tokens: 9 },
      ],
      usage: { prompt_tokens: 4, total_tokens: 4, truncated_tokens: 9 },
    });
    expect(asked[0]).toMatchObject({ dimensions: 2, truncate: true, normalize: false });
  });

  it('writes vectors as base64 of little-endian floats', async () => {
    const { post } = open({ embed: { vectors, promptTokens: 4 } });
    const { data } = await post('/v1/embeddings', { model: 'm', input: ['a', 'b'], encoding_format: 'base64' });
    const bytes = Buffer.from(data[0].embedding, 'base64');
    expect([bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length]).toEqual([Math.fround(0.6), Math.fround(-0.8), 8]);
  });
});

describe('POST /v1/rerank (RERANK of R14)', () => {
  const documents = ['a', { text: 'b', page: 7 }, 'c'];
  const body = { model: 'm', query: 'q', documents };

  it('gives the best documents first, equals in their order, by index', async () => {
    const { asked, post } = open({ rerank: { scores: [0.5, 0.9, 0.5], promptTokens: 12 } });
    const answer = await post('/v1/rerank', body);
    expect(answer).toMatchObject({ object: 'list', model: 'm', usage: { prompt_tokens: 12, total_tokens: 12 } });
    expect(answer.results).toEqual([
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.5 },
      { index: 2, relevance_score: 0.5 },
    ]);
    expect(asked).toEqual([
      { requestId: 'r', model: 'm', query: 'q', documents: ['a', 'b', 'c'], method: 'crossEncoder', truncate: false },
    ]);
  });

  it('answers top_n of them, with their documents where wanted, and says what was cut', async () => {
    const { asked, post } = open({ rerank: { scores: [0.5, 0.9, 0.5], promptTokens: 12, tokensLeftOut: [0, 3, 4] } });
    const answer = await post('/rerank', { ...body, top_n: 2, return_documents: true, method: 'embedding', truncate: true });
    expect(answer.results).toEqual([
      { index: 1, relevance_score: 0.9, document: { text: 'b' }, truncated_tokens: 3 },
      { index: 0, relevance_score: 0.5, document: { text: 'a' } },
    ]);
    expect(answer.usage.truncated_tokens).toBe(7);
    expect(asked[0]).toMatchObject({ method: 'embedding', truncate: true });
    expect((await post('/v2/rerank', { ...body, top_n: 99 })).results).toHaveLength(3);
  });

  it('names the field that is wrong', async () => {
    const { post } = open({ rerank: { scores: [], promptTokens: 0 } });
    const wrong: readonly (readonly [object, string])[] = [
      [{ documents: [] }, 'documents'],
      [{ documents: ['a', 'b', 'c', 'd'] }, 'documents'],
      [{ documents: ['a', 5] }, 'documents.1'],
      [{ query: null }, 'query'],
      [{ top_n: 0 }, 'top_n'],
      [{ method: 'guess' }, 'method'],
      [{ rank_fields: ['a'] }, ''],
    ];
    for (const [change, param] of wrong)
      await expect(post('/v1/rerank', { ...body, ...change } as JsonValue), JSON.stringify(change)).rejects.toEqual(
        bad(new RegExp(`^${param}$`)),
      );
  });
});
