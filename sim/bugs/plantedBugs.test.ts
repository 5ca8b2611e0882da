import { describe, expect, it } from 'vitest';
import { runSimulation } from '../runSimulation.js';
import { type PlantedBugName, plantedBugs } from './plantedBugs.js';

/** The seeds that keep every promise without a bug: simulation.test.ts runs them. */
const seedsMax = 50;

describe('planted bugs', () => {
  it.each(Object.keys(plantedBugs) as PlantedBugName[])('%s is found within 50 seeds', { timeout: 300_000 }, async (bug) => {
    for (let seed = 1; seed <= seedsMax; seed++) {
      const { violations } = await runSimulation({ seed, minutes: 1, bug });
      if (violations.length > 0) return;
    }
    expect.fail(`${bug} was not found`);
  });
});
