import { type GenerateRequest, plainSampling, type SamplingOptions } from '../../../src/platform/index.js';

const passage =
  'The harbour office keeps a log of every ship. A ship is entered with its name, its captain, its cargo and the hour of its arrival. ' +
  'The log is copied to the archive at midnight, where it is kept for thirty years. Only the harbour master may correct an entry. ';

const known = 'What is 17 times 3?';

const request = (content: string, sampling: Partial<SamplingOptions> = {}, overrides: Partial<GenerateRequest> = {}): GenerateRequest => ({
  requestId: 'test',
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: { ...plainSampling, tokensMax: 24, ...sampling },
  priority: 'normal',
  ...overrides,
});

/**
 * What the tests of engines ask: a passage of about 60 tokens, of which several make a prompt as long as a test needs; a question whose
 * answer, 51, the model knows; and a request of one question to the default model, greedy where nothing else is said.
 */
export const testPrompts = { passage, known, request } as const;
