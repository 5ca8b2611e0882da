import { describe, expect, it } from 'vitest';
import { openToyEngine, simStepCost, type ToyEngine } from '../../../sim/engine/index.js';
import { CountingRandom, EventLog } from '../../../test/support/silentPorts.js';
import { plainSampling } from '../../platform/index.js';
import { PatientShare } from './PatientShare.js';

const { signal } = new AbortController();
const packTokens = 128;
const packMs = packTokens * simStepCost.embedRowMs;
/** Fills half a pack: two begin and end tokens and the words. */
const text = `${'word '.repeat(packTokens / 2 - 2)}`;

const open = (): ToyEngine =>
  openToyEngine({
    sequences: 2,
    contextTokens: 512,
    queueRequestsMax: 4,
    script: [],
    random: new CountingRandom(),
    logger: new EventLog(),
    inference: { embedPatientShare: 0.25 },
  });

const embed = ({ engine }: ToyEngine, texts: readonly string[], isPatient: boolean) =>
  engine.embed({ requestId: 'e', model: 'default', texts, isPatient }, signal);

describe('PatientShare (R28)', () => {
  it('rests after a pass until the pass was its share of the time, but not where nobody waits', () => {
    const share = new PatientShare({ share: 0.25 });
    expect(share.mayStart(0, true)).toBe(true);
    share.started(100);
    share.ended(110);
    expect([share.mayStart(139, true), share.mayStart(140, true), share.mayStart(111, false)]).toEqual([false, true, true]);
    share.ended(500); // a step without a patient pass
    expect(share.mayStart(140, true)).toBe(true);
  });

  it('lets a text of the foreground wait for one pack at most, however much is to be embedded', async () => {
    const toy = open();
    const job = embed(
      toy,
      Array.from({ length: 40 }, () => text),
      true,
    );
    const waits: number[] = [];
    for (let i = 0; i < 12; i++) {
      await toy.clock.sleep(7 * i); // at another place of the pass each time
      const beganMs = toy.clock.monotonicMs();
      await embed(toy, ['short'], false);
      waits.push(toy.clock.monotonicMs() - beganMs);
    }
    const ownMs = 3 * simStepCost.embedRowMs;
    expect(Math.max(...waits)).toBeGreaterThan(ownMs); // some of them did meet a pack
    expect(Math.max(...waits)).toBeLessThanOrEqual(packMs + ownMs + 1e-6);
    expect((await job).vectors).toHaveLength(40);
    await toy.engine.close(new Error('over'));
  });

  it('gives its turn to a long text that is being read where it must wait for the end of that', async () => {
    const toy = open();
    const longText = 'word '.repeat(2 * packTokens - 2);
    const reading = embed(toy, [longText], false);
    await toy.clock.sleep(packMs / 2); // between its two pieces
    const patient = embed(toy, [longText], true);
    await reading;
    expect(toy.clock.monotonicMs()).toBeCloseTo(packMs, 6); // no step of nothing
    expect((await patient).vectors).toHaveLength(1);
    await toy.engine.close(new Error('over'));
  });

  it('takes no more than its share beside a chat, and everything without one', async () => {
    const alone = open();
    const texts = Array.from({ length: 16 }, () => text);
    await embed(alone, texts, true);
    const aloneMs = alone.clock.monotonicMs();
    expect(aloneMs).toBeCloseTo((texts.length / 2 - 1) * packMs, 6); // the last is answered before its time passes
    await alone.engine.close(new Error('over'));

    const shared = open();
    const chat = shared.engine.generate(
      {
        requestId: 'c',
        model: 'default',
        messages: [{ role: 'user', content: 'tell a long story' }],
        sampling: { ...plainSampling, tokensMax: 400, ignoreEnd: true },
        priority: 'normal',
      },
      signal,
    );
    const reading = (async () => {
      for await (const _ of chat) {
        // only its time counts
      }
    })();
    await embed(shared, texts, true);
    expect(shared.clock.monotonicMs()).toBeGreaterThan(3 * aloneMs);
    await reading;
    await shared.engine.close(new Error('over'));
  });
});
