import { afterEach, describe, expect, it } from 'vitest';
import { openToyEngine, type ToyEngine, type ToyEngineOptions } from '../../sim/engine/index.js';
import { withMethods } from '../../test/support/withMethods.js';
import { type GenerateRequest, plainSampling, type StepBackend } from '../platform/index.js';
import { NodeRandom, PinoLogger } from '../platform/node/index.js';

const sampling = { ...plainSampling, tokensMax: 40, ignoreEnd: true };
const request = (content: string, changes: Partial<GenerateRequest> = {}): GenerateRequest => ({
  requestId: content,
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling,
  priority: 'normal',
  ...changes,
});

describe('InferenceEngine admits requests (R19)', () => {
  let toy: ToyEngine | undefined;
  afterEach(async () => {
    await toy?.engine.close(new Error('test is over'));
    toy = undefined;
  });
  const open = (overrides: Partial<ToyEngineOptions> = {}) => {
    const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
    const bounds = { sequences: 2, contextTokens: 1024, queueRequestsMax: 64 };
    toy = openToyEngine({ random: new NodeRandom(), logger, script: [], ...bounds, ...overrides });
    return toy.engine;
  };
  const finish = async (engine: ToyEngine['engine'], asked: GenerateRequest, onEnd = (): void => undefined): Promise<void> => {
    for await (const event of engine.generate(asked, new AbortController().signal)) if (event.kind === 'finished') onEnd();
  };
  const warm = (engine: ToyEngine['engine']): Promise<unknown> =>
    Promise.all(['one', 'two'].map((content) => finish(engine, request(`${content} ${'x'.repeat(200)}`))));

  it('refuses what cannot make its deadline at once, with the estimate, and takes the same request with more time', async () => {
    const engine = open();
    await warm(engine);
    await expect(finish(engine, request('soon', { deadlineMs: 1 }))).rejects.toMatchObject({
      code: 'DEADLINE_UNREACHABLE',
      retryable: true,
      data: { deadlineMs: 1, queueMs: 0, estimateMs: expect.any(Number) },
    });
    expect(engine.load()).toMatchObject({ pendingLlmRequests: 0, sequencesBusy: 0 });
    await finish(engine, request('later', { deadlineMs: 600_000 }));
  });

  it('counts what waits before a request into its estimate, but only what goes before it', async () => {
    const engine = open();
    await warm(engine);
    const estimateOf = (changes: Partial<GenerateRequest>): Promise<number> =>
      finish(engine, request('asked', { deadlineMs: 0, ...changes })).then(
        () => Number.NaN,
        (error: { data: { estimateMs: number } }) => error.data.estimateMs,
      );
    const alone = await estimateOf({});
    const others = Array.from({ length: 10 }, (_, index) => finish(engine, request(`other ${index}`)));
    const behind = await estimateOf({});
    const urgent = await estimateOf({ priority: 'critical' });
    expect(behind).toBeGreaterThan(3 * alone);
    expect(urgent).toBeLessThan(behind);
    await Promise.all(others);
  });

  it('refuses nothing for its deadline before anything is measured', async () => {
    await finish(open(), request('first', { deadlineMs: 0 }));
  });

  it('serves the single request of one owner among many of another', async () => {
    const engine = open();
    const order: string[] = [];
    const many = Array.from({ length: 30 }, (_, index) =>
      finish(engine, request(`many ${index}`, { owner: 'many' }), () => order.push('many')),
    );
    const few = finish(engine, request('few', { owner: 'few' }), () => order.push('few'));
    await Promise.all([...many, few]);
    expect(order.indexOf('few')).toBeLessThan(6);
  });

  it('lets no more requests begin than may share the sequences; the others wait, and all are answered', async () => {
    const engine = open({ inference: { concurrentRequestsMax: 2, sequenceTurnMs: 100, sequenceTurnTokensMin: 1 } });
    let begun = 0;
    let most = 0;
    const answers = Array.from({ length: 8 }, async (_, index) => {
      for await (const event of engine.generate(request(`question ${index}`), new AbortController().signal)) {
        if (event.kind === 'admitted') most = Math.max(most, ++begun);
        if (event.kind === 'finished') begun--;
      }
    });
    await Promise.all(answers);
    expect(most).toBe(2);
  });

  it('lets 128 requests share the model where nothing else is said (paper: max_concurrent_requests)', async () => {
    const engine = open({ sequences: 160, queueRequestsMax: 256 });
    let begun = 0;
    let most = 0;
    const short = { ...sampling, tokensMax: 4 };
    const answers = Array.from({ length: 200 }, async (_, index) => {
      for await (const event of engine.generate(request(`question ${index}`, { sampling: short }), new AbortController().signal)) {
        if (event.kind === 'admitted') most = Math.max(most, ++begun);
        if (event.kind === 'finished') begun--;
      }
    });
    await Promise.all(answers);
    expect(most).toBe(128);
  });

  it('shares no prefix and says what it does not keep on a machine whose bits depend on the cut of a prompt', async () => {
    const trembling = (backend: StepBackend): StepBackend => {
      let off = 0;
      return withMethods(backend, {
        decode: (rows) => {
          off = rows.length === 64 ? 1 : 0;
          backend.decode(rows);
        },
        logits: (row) => backend.logits(row).map((logit) => logit + off),
      });
    };
    const engine = open({ wrap: trembling, inference: { selfCheck: true } });
    expect(engine.abilities.sameTextUnderLoad).toBe(false);
    for (let time = 0; time < 2; time++) await finish(engine, request('the same question '.repeat(10)));
    expect(engine.figures().prefixLookups.hit).toBe(0);
    await toy?.engine.close(new Error('next'));
    const sound = open();
    expect(sound.abilities.sameTextUnderLoad).toBe(true);
    for (let time = 0; time < 2; time++) await finish(sound, request('the same question '.repeat(10)));
    expect(sound.figures().prefixLookups.hit).toBe(1);
  });

  it('reports the queue by priority and what a step takes', async () => {
    const engine = open({ sequences: 1 });
    const asked = (['normal', 'high', 'low', 'low'] as const).map((priority, index) => finish(engine, request(`q${index}`, { priority })));
    expect(engine.load().queuedByPriority).toEqual({ low: 2, normal: 1, high: 1, critical: 0 });
    await Promise.all(asked);
    expect(engine.load()).toMatchObject({ queuedByPriority: { low: 0, normal: 0, high: 0, critical: 0 } });
    expect(engine.load().stepMs).toBeGreaterThan(0);
  });
});
