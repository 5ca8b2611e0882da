import { afterEach, describe, expect, it } from 'vitest';
import { QuickClock, SimEngineLauncher, simStepCost, toyEngineConfig } from '../../sim/engine/index.js';
import { withMethods } from '../../test/support/withMethods.js';
import { type EngineLauncher, type GenerateRequest, type LaunchedEngine, plainSampling, platformError } from '../platform/index.js';
import { NodeRandom, PinoLogger, PrometheusMetrics } from '../platform/node/index.js';
import { EngineSupervisor } from './EngineSupervisor.js';
import { engineOptions } from './options.js';

const { signal } = new AbortController();
const logger = PinoLogger.open({ level: 'error', destination: '/dev/null' });
const config = toyEngineConfig({ sequences: 8, contextTokens: 1024, queueRequestsMax: 32 });
const expected = { startBytes: 1e9, laterBytes: 0.2e9 };

const request = (content: string): GenerateRequest => ({
  requestId: `${content} ${Math.random()}`,
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: { ...plainSampling, tokensMax: 400, ignoreEnd: true },
  priority: 'normal',
});

describe('EngineSupervisor watches the memory of its engine (R18)', () => {
  let supervisor: EngineSupervisor | undefined;
  afterEach(async () => {
    await supervisor?.stop();
    supervisor = undefined;
  });

  /** Engines that hold `warmBytes`, and `grownBytes` 1.5 s after a request came that says greedy. None answers before some beats have passed. */
  const open = async (given: { readonly warmBytes?: number; readonly grownBytes?: number; readonly isEstimated?: boolean }) => {
    const { warmBytes = 0.9e9, grownBytes = 2e9, isEstimated = true } = given;
    const clock = new QuickClock();
    const sim = new SimEngineLauncher({ clock, random: new NodeRandom(), logger, script: [], cost: simStepCost, launchMs: 900 });
    const kills: string[] = [];
    const growing = (engine: LaunchedEngine): LaunchedEngine => {
      let bytes: number | undefined = warmBytes;
      const generate: typeof engine.modelService.generate = async function* (asked, stop) {
        for await (const event of engine.modelService.generate(asked, stop)) {
          yield event;
          if (event.kind !== 'admitted') continue;
          await clock.sleep(1500); // the first beat sees it warm
          if (asked.messages[0]?.content === 'greedy') bytes = grownBytes;
          const exit = await Promise.race([clock.sleep(5000).then(() => undefined), engine.exited]); // later ones as it is now
          if (exit !== undefined) throw platformError('ENGINE_LOST', exit.reason);
        }
      };
      const kill = (why: string): void => {
        kills.push(why);
        bytes = undefined;
        void sim.crash(true);
      };
      const modelService = withMethods(engine.modelService, { generate });
      return { ...engine, modelService, residentBytes: () => bytes, kill, ...(isEstimated && { memoryExpected: expected }) };
    };
    const launcher: EngineLauncher = { launch: async (engine, stop) => growing(await sim.launch(engine, stop)) };
    const options = engineOptions.parse({ readyWaitMsMax: 60_000 });
    supervisor = new EngineSupervisor({ launcher, config, options, clock, logger, metrics: new PrometheusMetrics() });
    const service = supervisor;
    await service.start(signal);
    const ask = async (content: string): Promise<string> => {
      try {
        for await (const event of service.generate(request(content), signal)) if (event.kind === 'finished') return 'answered';
        return 'no end';
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    return { ask, kills };
  };

  it('ends one that holds more than it may, answers what ran beside, and refuses what made it grow twice', async () => {
    const { ask, kills } = await open({});
    expect(await Promise.all(['greedy', 'one', 'two'].map(ask))).toEqual(['REQUEST_QUARANTINED', 'answered', 'answered']);
    expect(kills).toEqual(Array.from({ length: 2 }, () => 'it held 2.0 GB of memory, and may hold 1.7 GB'));
    expect(await ask('greedy')).toBe('REQUEST_QUARANTINED');
    expect(kills).toHaveLength(2);
  });

  it('lets one alone that holds what it may: the factor of its estimate, and the store of prefixes', async () => {
    const { ask, kills } = await open({ grownBytes: 1.7e9 });
    expect([await ask('greedy'), kills]).toEqual(['answered', []]);
  });

  it('takes what a warm engine held for its measure where that is more than the estimate', async () => {
    const { ask, kills } = await open({ warmBytes: 4e9, grownBytes: 6.2e9 });
    expect([await ask('greedy'), kills]).toEqual(['answered', []]);
  });

  it('watches none that nobody estimated', async () => {
    const { ask, kills } = await open({ grownBytes: 1e15, isEstimated: false });
    expect([await ask('greedy'), kills]).toEqual(['answered', []]);
  });
});
