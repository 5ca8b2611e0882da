import { describe, expect, it, vi } from 'vitest';
import { findPeerPrograms } from '../../../bench/findPeerPrograms.js';
import { openPeerServer, type PeerServer } from '../../../bench/openPeerServer.js';
import { peerPrograms } from '../../../bench/peerPrograms.js';
import { modelServiceConformance } from '../../../src/platform/conformance/modelServiceConformance.js';
import { type GenerateEvent, type GenerateRequest, type LaunchedEngine, plainSampling } from '../../../src/platform/index.js';
import { NodeClock, OpenAiEngineLauncher } from '../../../src/platform/node/index.js';
import { testModels } from './testModels.js';

// A model server that others wrote, on the same libraries: what the twin in test/support takes for granted of it is shown here.
const mayBuild = process.env['OSTRAKA_TEST_PEER'] === '1';
const builtFolder = findPeerPrograms();
if (mayBuild) vi.setConfig({ hookTimeout: 1_800_000 });

const { signal } = new AbortController();
const sequences = 2;
const contextTokens = 512;
const context = ['-np', String(sequences), '-c', String(sequences * contextTokens), '--no-kv-unified'];
// Without rows of earlier prompts: those computed in other pieces may have other bits, and greedy answers may then differ.
const cache = ['--no-cache-prompt', '--cache-ram', '0'];

interface Peer {
  readonly server: PeerServer;
  readonly engine: LaunchedEngine;
}

const openPeer = async (role: 'chat' | 'embedding'): Promise<Peer> => {
  const models = testModels();
  const options = ['-t', '1', '-tb', '1', '-a', role, ...(role === 'chat' ? [...context, ...cache] : ['--embeddings'])];
  const server = await openPeerServer({ folder: builtFolder ?? peerPrograms(), modelPath: models[role].path, options });
  const embeddingModel = role === 'embedding' ? role : undefined;
  const launcher = new OpenAiEngineLauncher({
    url: server.url,
    apiKey: undefined,
    chatModel: role,
    embeddingModel,
    clock: new NodeClock(),
  });
  const config = { chatModel: models.chat, embeddingModel: models.embedding, sequences, contextTokens, threads: 1, queueRequestsMax: 16 };
  return { server, engine: await launcher.launch(config, signal) };
};

if (builtFolder === undefined && !mayBuild)
  it.skip('ModelService: llama-server (it is not built here; OSTRAKA_TEST_PEER=1 builds it)', () => undefined);
else {
  modelServiceConformance({
    name: 'llama-server on the default model',
    open: async () => {
      const { server, engine } = await openPeer('chat');
      return { service: engine.modelService, close: () => server.close() };
    },
  });

  describe('llama-server behind a shard (R18)', () => {
    it('embeds texts in their order, each of unit length, where it serves an embedding model', async () => {
      const { server, engine } = await openPeer('embedding');
      try {
        const embed = async (...texts: string[]) =>
          (await engine.modelService.embed({ requestId: 'e', model: 'default', texts }, signal)).vectors;
        const [one, two] = await embed('a red fox', 'the law of contracts');
        const [alone] = await embed('the law of contracts');
        expect(one).toHaveLength(384);
        for (const vector of [one, two]) expect(Math.hypot(...(vector ?? []))).toBeCloseTo(1, 3);
        expect((two ?? []).reduce((sum, value, place) => sum + value * (alone?.[place] ?? 0), 0)).toBeGreaterThan(0.999);
      } finally {
        await server.close();
      }
    });

    it('keeps a schema, takes a prompt without messages, and is lost when it is gone', async () => {
      const { server, engine } = await openPeer('chat');
      const ask = (overrides: Partial<GenerateRequest>) => read(engine.modelService.generate({ ...plain, ...overrides }, signal));
      try {
        const schema = { type: 'object', properties: { n: { type: 'integer', maximum: 9 } }, required: ['n'], additionalProperties: false };
        const constraint = { kind: 'jsonSchema', schema } as const;
        const json = await ask({ sampling: { ...plain.sampling, constraint } });
        expect(typeof (JSON.parse(json) as { readonly n: unknown }).n).toBe('number');
        expect(await ask({ messages: [], prompt: 'One, two, three,' })).toMatch(/\S/);
        await engine.ping();
      } finally {
        await server.close();
      }
      await expect(ask({})).rejects.toMatchObject({ code: 'ENGINE_LOST' });
    });
  });
}

const plain: GenerateRequest = {
  requestId: 'r',
  model: 'default',
  messages: [{ role: 'user', content: 'A number?' }],
  sampling: { ...plainSampling, tokensMax: 32 },
  priority: 'normal',
};

const read = async (events: AsyncIterable<GenerateEvent>): Promise<string> => {
  let text = '';
  for await (const event of events) if (event.kind === 'text') text += event.text;
  return text;
};
