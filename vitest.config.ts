import { defineConfig } from 'vitest/config';

const common = { pool: 'forks' as const, testTimeout: 20_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    projects: [
      { test: { ...common, name: 'unit', include: ['src/**/*.test.ts', 'test/*.test.ts'] } },
      // A run makes much short-lived garbage: a larger young space collects it seldom.
      { test: { ...common, name: 'sim', include: ['sim/**/*.test.ts'], execArgv: ['--max-semi-space-size=64'] } },
      { test: { ...common, name: 'integration', include: ['test/integration/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 120_000 } },
      {
        test: {
          ...common,
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 240_000,
          // Each file starts processes that keep both cores busy; two at once would measure each other.
          fileParallelism: false,
        },
      },
    ],
  },
});
