import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['{src,streams,clickhouse,test}/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
});
