import { defineConfig } from 'vitest/config';

const common = { pool: 'forks' as const, testTimeout: 20_000, hookTimeout: 60_000 };

// Groups run one after the other. Unit tests share both cores; engines, the simulator, which measures its CPU time, and the processes of an
// end-to-end test run alone.
const group = (groupOrder: number, maxWorkers: number) => ({ ...common, maxWorkers, sequence: { groupOrder } });

export default defineConfig({
  test: {
    projects: [
      { test: { ...group(0, 2), name: 'unit', include: ['src/**/*.test.ts', 'test/*.test.ts'] } },
      {
        test: {
          ...group(1, 1),
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      // A run makes much short-lived garbage: a larger young space collects it seldom.
      { test: { ...group(2, 1), name: 'sim', include: ['sim/**/*.test.ts'], execArgv: ['--max-semi-space-size=64'] } },
      {
        test: {
          ...group(3, 1),
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 240_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
