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

const request = (content: string): GenerateRequest => ({
  requestId: `${content} ${Math.random()}`,
  model: 'default',
  messages: [{ role: 'user', content }],
  sampling: { ...plainSampling, tokensMax: 20, ignoreEnd: true },
  priority: 'normal',
});

describe('EngineSupervisor keeps away a request that ends engines (R18)', () => {
  let supervisor: EngineSupervisor | undefined;
  afterEach(async () => {
    await supervisor?.stop();
    supervisor = undefined;
  });

  /** Engines that end by themselves in the middle of a request whose text says poison. */
  const open = async () => {
    const clock = new QuickClock();
    const sim = new SimEngineLauncher({ clock, random: new NodeRandom(), logger, script: [], cost: simStepCost, launchMs: 900 });
    let launches = 0;
    const poisoned = (engine: LaunchedEngine): LaunchedEngine => {
      const generate: typeof engine.modelService.generate = async function* (asked, stop) {
        for await (const event of engine.modelService.generate(asked, stop)) {
          if (event.kind === 'admitted' && asked.messages[0]?.content.includes('poison')) {
            await sim.crash(true);
            throw platformError('ENGINE_LOST', 'the engine process is gone: signal SIGSEGV');
          }
          yield event;
        }
      };
      return { ...engine, modelService: withMethods(engine.modelService, { generate }) };
    };
    const launcher: EngineLauncher = {
      launch: async (engineConfig, stop) => {
        launches++;
        return poisoned(await sim.launch(engineConfig, stop));
      },
    };
    const options = engineOptions.parse({ readyWaitMsMax: 60_000 });
    supervisor = new EngineSupervisor({ launcher, config, options, clock, logger, metrics: new PrometheusMetrics() });
    await supervisor.start(signal);
    const ask = async (content: string): Promise<string> => {
      try {
        for await (const event of (supervisor as EngineSupervisor).generate(request(content), signal))
          if (event.kind === 'finished') return 'answered';
        return 'no end';
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    return { ask, sim, clock, launches: () => launches };
  };

  it('answers what ran beside it, refuses it after its second crash, and then without a further one', async () => {
    const { ask, launches } = await open();
    const innocent = ['one', 'two', 'three', 'four'];
    const [poison, ...others] = await Promise.all(['poison', ...innocent].map(ask));
    expect(poison).toBe('REQUEST_QUARANTINED');
    expect(others).toEqual(innocent.map(() => 'answered'));
    const before = launches();
    expect(await Promise.all(['poison', ...innocent].map(ask))).toEqual(['REQUEST_QUARANTINED', ...innocent.map(() => 'answered')]);
    expect(launches()).toBe(before);
  });

  it('takes it again after the quarantine', async () => {
    const { ask, clock, launches } = await open();
    expect(await ask('poison')).toBe('REQUEST_QUARANTINED');
    const before = launches();
    await clock.sleep(600_001, signal);
    expect(await ask('poison')).toBe('REQUEST_QUARANTINED');
    expect(launches()).toBe(before + 2);
  });

  it('holds no request guilty of an end that came from outside', async () => {
    const { ask, sim } = await open();
    for (let time = 0; time < 4; time++) {
      const answer = ask('plain');
      await sim.crash();
      expect(await answer).toBe('answered');
    }
  });
});
