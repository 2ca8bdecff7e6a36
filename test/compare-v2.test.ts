/** The v2 API beside the older official server, on few questions; `npm run compare:v2` asks all, and the whole service. */
import { expect, test } from 'vitest';
import { compare, linesOf } from './compare-v2/compare.ts';
import { questionsFor } from './compare-v2/questions.ts';
import { openStage } from './compare-v2/stage.ts';
import { tonHttpApi } from './foreign/programs.ts';

test('ton-http-api answers as we do, but where it is known to differ', async () => {
  const reference = await tonHttpApi();
  if (reference === null) {
    // Said already; where it should be there it is a failure.
    expect(process.env.CI ?? '').toBe('');
    return;
  }
  const stage = await openStage(reference, { steps: 14, service: false });
  try {
    const questions = await questionsFor(stage, { accounts: 1, everyBlock: 4, longest: false });
    const comparison = await compare(stage, questions, ['plain']);
    expect(linesOf(comparison).filter((line) => line.startsWith('UNEXPLAINED'))).toEqual([]);
    expect(comparison.asked).toBeGreaterThan(500);
  } finally {
    await stage.close();
  }
});
