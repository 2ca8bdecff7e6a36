import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { runFolder } from './test/run-folder.ts';

/** Files that take longest, in this order first: one that begins late runs alone at the end while a core is idle. */
const LONGEST = [
  'test/devnet.test.ts',
  'test/soak.test.ts',
  'test/window.test.ts',
  'test/devnet-tokens.test.ts',
  'test/sql.test.ts',
  'test/live-crash-parts.test.ts',
  'test/rebuild.test.ts',
  'test/answers.test.ts',
  'test/api-mainnet.test.ts',
  'test/api-others.test.ts',
  'test/verify.test.ts',
  'test/crash.test.ts',
  'test/statistics.test.ts',
  'test/window-kafka.test.ts',
  'test/kafka.test.ts',
  'test/page.test.ts',
  'test/api-private.test.ts',
  'streams/project/contracts/devnet.test.ts',
  'streams/project/projector.test.ts',
  'streams/project/repeated-batches.test.ts',
  'streams/project/projector-cells.test.ts',
  'clickhouse/server.test.ts',
  'streams/project/lost-inserts.test.ts',
];

/**
 * Files that share a process and what it has loaded: loading is a third of what most of them cost. They leave nothing
 * behind that another file of theirs would notice.
 */
const TOGETHER = '{clickhouse,src,streams}/**/*.test.ts';
/** Of these, what puts modules in the place of others. */
const ALONE = ['src/archive/fill.test.ts', 'src/commands/http.test.ts', 'streams/kafka-reader.test.ts'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rank = ({ moduleId }: TestSpecification): number => {
      const file = relative(root, moduleId);
      const at = LONGEST.indexOf(file);
      // Those of a process of their own, then the rest: a process that is shared ends where another kind comes next.
      const isApart = file.startsWith('test/') || ALONE.includes(file);
      return (isApart ? 0 : 2 * LONGEST.length) + (at >= 0 ? at : LONGEST.length);
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

/** Decides all that tests draw by chance; `TEST_SEED=… npm test` draws the same again. */
const given = process.env.TEST_SEED;
const seed = given ?? String(randomInt(2 ** 31));
process.stdout.write(`TEST_SEED=${seed}\n`);

const folder = runFolder();
process.once('exit', () => {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  } catch (error) {
    // A ClickHouse whose service was killed may still write: no reason to fail, and the next run removes the folder.
    process.stderr.write(`${folder} is left behind: ${error instanceof Error ? error.message : String(error)}\n`);
  }
});

// Properties draw seeds of their own where none is given, and say them when they fail.
const setupFiles = ['test/each-file.ts', ...(given === undefined ? [] : ['test/given-seed.ts'])];

const each = {
  pool: 'forks',
  env: { TEST_SEED: seed, TEST_FOLDER: folder, TMPDIR: folder },
  setupFiles,
  // Bounds for machines that do much else: what hangs is ended, what is slow is not.
  testTimeout: 600_000,
  hookTimeout: 600_000,
  // Longest wait for what comes by itself; the default of a second is for machines that do nothing else.
  expect: { poll: { timeout: 180_000 } },
} as const;

export default defineConfig({
  test: {
    // For two cores: a third file works while others wait for a chain or a server.
    maxWorkers: 3,
    // What one file loads is there for the next one, in a process of its own.
    experimental: { fsModuleCache: true },
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...each, name: 'together', include: [TOGETHER], exclude: ALONE, isolate: false } },
      { test: { ...each, name: 'apart', include: [...ALONE, 'test/**/*.test.ts'] } },
    ],
  },
});
