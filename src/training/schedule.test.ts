import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AdamW } from './AdamW.js';
import { batchOfStep } from './batchOfStep.js';
import { learningRateAt } from './learningRateAt.js';
import { SeededNumbers } from './SeededNumbers.js';
import { splitPasses } from './splitPasses.js';

describe('SeededNumbers', () => {
  it('are even in [0, 1), repeat for a seed and a use, and differ for another', () => {
    const draw = (...names: [number, ...number[]]) => {
      const numbers = new SeededNumbers(...names);
      return Array.from({ length: 4096 }, () => numbers.next());
    };
    const first = draw(1, 2, 3);
    expect(draw(1, 2, 3)).toEqual(first);
    for (const other of [draw(2, 2, 3), draw(1, 3, 2), draw(1, 2, 4), draw(1, 2)]) expect(other).not.toEqual(first);
    expect(Math.min(...first)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...first)).toBeLessThan(1);
    const buckets = first.reduce(
      (counts, value) => counts.with(Math.floor(value * 8), (counts[Math.floor(value * 8)] ?? 0) + 1),
      Array(8).fill(0),
    );
    for (const count of buckets) expect(Math.abs((count as number) - 512)).toBeLessThan(100);
  });
});

describe('batchOfStep', () => {
  it('an epoch goes through every example once, in an order of its own', () => {
    const sizes = {
      seed: fc.nat(1000),
      examples: fc.integer({ min: 1, max: 80 }),
      batch: fc.integer({ min: 1, max: 20 }),
      epoch: fc.nat(5),
    };
    fc.assert(
      fc.property(fc.record(sizes), ({ seed, examples, batch, epoch }) => {
        const steps = Math.ceil(examples / batch);
        const orderOf = (which: number) =>
          Array.from({ length: steps }, (_, i) => batchOfStep({ seed, step: which * steps + i, batch, examples })).flat();
        const order = orderOf(epoch);
        expect([...order].sort((left, right) => left - right)).toEqual(Array.from({ length: examples }, (_, i) => i));
        if (examples > 20) expect(orderOf(epoch + 1)).not.toEqual(order);
      }),
    );
  });
});

describe('learningRateAt', () => {
  it('rises over the warm-up, never exceeds the highest rate, and falls to nearly nothing', () => {
    const options = { learningRate: 2e-3, warmupSteps: 10, steps: 234 };
    const rates = Array.from({ length: options.steps }, (_, step) => learningRateAt(step, options));
    expect(Math.max(...rates)).toBeLessThanOrEqual(options.learningRate);
    expect(rates.indexOf(Math.max(...rates))).toBe(9);
    for (let step = 10; step < options.steps; step++) expect(rates[step]).toBeLessThan(rates[step - 1] as number);
    expect(rates.at(-1)).toBeGreaterThan(0);
    expect(rates.at(-1)).toBeLessThan(1e-6);
    expect(learningRateAt(0, { ...options, warmupSteps: 0 })).toBe(options.learningRate);
  });
});

describe('AdamW', () => {
  const plain = { weightDecay: 0, gradientNormMax: Number.POSITIVE_INFINITY };

  it('follows the published formulas, in double precision up to rounding', () => {
    const gradients = [0.5, -0.25, 0.125, 2, -1];
    const tensor = { values: Float32Array.of(1), gradient: new Float32Array(1) };
    const optimizer = new AdamW([tensor], { ...plain, weightDecay: 0.1 });
    let [value, first, second] = [1, 0, 0];
    for (const [step, gradient] of gradients.entries()) {
      tensor.gradient[0] = gradient;
      optimizer.update(step, 0.01);
      first = 0.9 * first + 0.1 * gradient;
      second = 0.999 * second + 0.001 * gradient ** 2;
      const direction = first / (1 - 0.9 ** (step + 1)) / (Math.sqrt(second / (1 - 0.999 ** (step + 1))) + 1e-8);
      value = value * (1 - 0.01 * 0.1) - 0.01 * direction;
      expect(tensor.values[0]).toBeCloseTo(value, 6);
    }
  });

  it('a gradient longer than the bound moves as one of that length does; a shorter one is left', () => {
    const momentsAfter = (gradient: readonly number[], gradientNormMax: number) => {
      const tensor = { values: new Float32Array(2), gradient: Float32Array.from(gradient) };
      const optimizer = new AdamW([tensor], { weightDecay: 0, gradientNormMax });
      optimizer.update(0, 0.1);
      return Array.from(optimizer.moments[0]?.first ?? []);
    };
    expect(momentsAfter([30, 40], 5)).toEqual(momentsAfter([3, 4], 100));
    expect(momentsAfter([3, 4], 5)).toEqual(momentsAfter([3, 4], 100));
  });

  it('finds the bottom of a bowl', () => {
    const tensor = { values: Float32Array.of(5, -3), gradient: new Float32Array(2) };
    const optimizer = new AdamW([tensor], plain);
    for (let step = 0; step < 2000; step++) {
      tensor.gradient.set([2 * ((tensor.values[0] as number) - 1), 20 * ((tensor.values[1] as number) - 2)]);
      optimizer.update(step, 0.02);
    }
    expect(tensor.values[0]).toBeCloseTo(1, 2);
    expect(tensor.values[1]).toBeCloseTo(2, 2);
  });
});

describe('splitPasses', () => {
  it('keeps every sequence once and in order, and no pass of several over the bound', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 2, max: 60 }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 16, max: 200 }),
        (lengths, max) => {
          const sequences = lengths.map((length) => ({ tokens: new Int32Array(length), promptTokens: 1 }));
          const passes = splitPasses(sequences, max);
          expect(passes.flat()).toEqual(sequences);
          for (const pass of passes) {
            const rows = pass.length * Math.max(...pass.map(({ tokens }) => tokens.length - 1));
            expect(pass.length === 1 || rows <= max).toBe(true);
          }
        },
      ),
    );
  });
});
