import { afterEach, describe, expect, it } from 'vitest';
import { openToyEngine, type ToyEngine } from '../../sim/engine/index.js';
import { type Constraint, type GenerateRequest, plainSampling, type SamplingOptions } from '../platform/index.js';
import { NodeRandom, PinoLogger } from '../platform/node/index.js';

const schema = {
  type: 'object',
  properties: {
    name: { type: 'string', maxLength: 8 },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    tags: { items: { enum: ['a', 'b'] }, maxItems: 3 },
  },
  required: ['name', 'age'],
};
const constraint: Constraint = { kind: 'jsonSchema', schema };

describe('constrained output of the engine, on a model that knows nothing of the form (R22)', () => {
  let toy: ToyEngine | undefined;
  afterEach(async () => {
    await toy?.engine.close(new Error('test is over'));
    toy = undefined;
  });
  const open = () => {
    const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
    const script = [{ question: 'free', answer: 'It is {"name":"Ann"} or so.' }];
    const bounds = { sequences: 4, contextTokens: 1024, queueRequestsMax: 32 };
    const opened = openToyEngine({ random: new NodeRandom(), logger, script, ...bounds });
    toy = opened;
    return async (content: string, sampling: Partial<SamplingOptions>) => {
      const asked = { requestId: content, model: 'default', messages: [{ role: 'user', content }], priority: 'normal' } as const;
      const request: GenerateRequest = { ...asked, sampling: { ...plainSampling, tokensMax: 300, ...sampling } };
      let [text, reason, tokens] = ['', '', 0];
      let logprobs: number[] = [];
      for await (const event of opened.engine.generate(request, new AbortController().signal)) {
        if (event.kind === 'text') {
          text += event.text;
          logprobs = [...logprobs, ...(event.logprobs ?? []).map(({ logprob }) => logprob)];
        } else if (event.kind === 'finished') [reason, tokens] = [event.finishReason, event.usage.completionTokens];
      }
      return { text, reason, tokens, logprobs };
    };
  };

  it('is of the form whenever it ends by itself, greedy and sampled, alone and under load the same', async () => {
    const ask = open();
    const samplings = Array.from(
      { length: 12 },
      (_, seed): Partial<SamplingOptions> =>
        seed === 0 ? {} : { temperature: 0.5 + seed / 8, seed, ...(seed % 3 === 0 && { topP: 0.9, topK: 20 }) },
    );
    const asks = samplings.map((sampling, index) => () => ask(`question ${index}`, { ...sampling, constraint }));
    const alone = [];
    for (const one of asks) alone.push(await one());
    expect(await Promise.all(asks.map((one) => one()))).toEqual(alone);
    for (const { text, reason } of alone) {
      expect(reason).toBe('stop');
      const { name, age, tags = [] } = JSON.parse(text) as { name: string; age: number; tags?: string[] };
      expect([...name].length <= 8 && Number.isInteger(age) && age >= 0 && age <= 150 && tags.length <= 3).toBe(true);
    }
  });

  it('leaves free answers as they are, beside constrained ones', async () => {
    const ask = open();
    const [free, bound] = await Promise.all([ask('free', {}), ask('free', { constraint: { kind: 'choice', texts: ['yes', 'no'] } })]);
    expect(free.text).toBe('It is {"name":"Ann"} or so.');
    expect(['yes', 'no']).toContain(bound.text);
  });

  it('ends with the last possible token, which counts as an end by itself, and is cut by tokensMax and stop strings before', async () => {
    const ask = open();
    const yes: Constraint = { kind: 'regex', pattern: 'yes+!' };
    expect(await ask('q', { constraint: { kind: 'choice', texts: ['yes'] }, tokensMax: 3 })).toMatchObject({
      text: 'yes',
      reason: 'stop',
      tokens: 3,
    });
    expect(await ask('q', { constraint: yes, tokensMax: 2 })).toMatchObject({ text: 'ye', reason: 'length' });
    expect(await ask('q', { constraint: yes, stop: ['s'] })).toMatchObject({ text: 'ye', reason: 'stop' });
    expect(await ask('q', { constraint: { kind: 'choice', texts: ['yes'] }, tokensMin: 50, ignoreEnd: true })).toMatchObject({
      text: 'yes',
      reason: 'stop',
    });
  });

  it("tells the model's own log-probabilities, however unlikely the form is to it", async () => {
    const { logprobs } = await open()('free', { constraint: { kind: 'choice', texts: ['zz'] }, logprobsTop: 1 });
    expect(logprobs).toHaveLength(2);
    expect(logprobs[0]).toBeLessThan(-1);
  });

  it('refuses a constraint before the request waits, and goes on', async () => {
    const ask = open();
    await expect(ask('q', { constraint: { kind: 'gbnf', grammar: 'root ::= (' } })).rejects.toMatchObject({ code: 'CONSTRAINT_INVALID' });
    await expect(ask('q', { constraint: { kind: 'regex', pattern: 'a(?=b)' } })).rejects.toMatchObject({
      code: 'CONSTRAINT_NOT_SUPPORTED',
    });
    let deep = {};
    for (let depth = 0; depth < 50_000; depth++) deep = { items: deep };
    await expect(ask('q', { constraint: { kind: 'jsonSchema', schema: deep } })).rejects.toMatchObject({ code: 'CONSTRAINT_TOO_LARGE' });
    expect((await ask('free', {})).reason).toBe('stop');
  });
});
