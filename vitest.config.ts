import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { runFolder } from './test/run-folder.ts';

/** Files that take longest, in this order first: one that begins late runs alone at the end while a core is idle. */
const LONGEST = [
  'test/soak.test.ts',
  'test/live-crash-parts.test.ts',
  'test/crash.test.ts',
  'streams/project/projector.test.ts',
  'test/api-mainnet.test.ts',
  'test/api-private.test.ts',
  'test/verify.test.ts',
  'test/rebuild.test.ts',
  'test/answers.test.ts',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rank = ({ moduleId }: TestSpecification): number => {
      const file = relative(root, moduleId);
      const at = LONGEST.indexOf(file);
      if (at >= 0) return at;
      // End to end, then the rest.
      return LONGEST.length + (file.startsWith('test/') ? 0 : 1);
    };
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

/** Decides all that tests draw by chance; `TEST_SEED=… npm test` draws the same again. */
const given = process.env.TEST_SEED;
const seed = given ?? String(randomInt(2 ** 31));
process.stdout.write(`TEST_SEED=${seed}\n`);

const folder = runFolder();
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

export default defineConfig({
  test: {
    include: ['{src,streams,clickhouse,test}/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    env: { TEST_SEED: seed, TMPDIR: folder },
    // Properties draw seeds of their own otherwise, and say them when they fail.
    setupFiles: given === undefined ? [] : ['test/given-seed.ts'],
    testTimeout: 240_000,
    hookTimeout: 300_000,
    // Longest wait for what comes by itself; the default of a second is for machines that do nothing else.
    expect: { poll: { timeout: 60_000 } },
  },
});
