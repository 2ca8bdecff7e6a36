import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{src,streams,clickhouse,test}/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 300_000,
    // Longest wait for what comes by itself; the default of a second is for machines that do nothing else.
    expect: { poll: { timeout: 60_000 } },
  },
});
