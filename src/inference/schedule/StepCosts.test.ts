import { describe, expect, it } from 'vitest';
import { StepCosts } from './StepCosts.js';

const open = (stepCostWeight = 0.5): StepCosts => new StepCosts({ stepCostWeight, stepCostGrowthMax: 1e9, stepCostFreshSteps: 1024 });
const prefill = (prefillRows: number) => ({ prefillRows, decodeRows: 0, embedRows: 0 });
const decode = (decodeRows: number) => ({ prefillRows: 0, decodeRows, embedRows: 0 });

describe('StepCosts', () => {
  it('knows nothing before the first step', () => {
    expect(open().figures(8)).toEqual({ prefillRowMs: undefined, decodeStepMs: undefined });
    expect(open().stepMs).toBe(0);
  });

  it('is a moving mean of the cost of a row in pieces of 64 rows and more', () => {
    const costs = open();
    costs.record(prefill(10), 1_000);
    expect(costs.figures(1).prefillRowMs).toBe(100);
    costs.record(prefill(100), 200);
    costs.record(prefill(10), 1_000);
    expect(costs.figures(1).prefillRowMs).toBe(2);
    costs.record(prefill(64), 256);
    expect(costs.figures(1).prefillRowMs).toBe(3);
  });

  it('tells steps of few rows from steps of many, and takes what lies between for a size that was never seen', () => {
    const costs = open();
    costs.record(decode(1), 15);
    costs.record(decode(16), 90);
    expect([1, 2, 9, 16, 17].map((rows) => costs.figures(rows).decodeStepMs)).toEqual([15, 20, 55, 90, 90]);
  });

  it('leaves out cycles in which texts were embedded too, or nothing was done', () => {
    const costs = open();
    costs.record({ prefillRows: 64, decodeRows: 0, embedRows: 100 }, 500);
    costs.record({ prefillRows: 0, decodeRows: 0, embedRows: 0 }, 500);
    expect(costs.figures(1)).toEqual({ prefillRowMs: undefined, decodeStepMs: undefined });
    expect(costs.stepMs).toBe(0);
  });
});
