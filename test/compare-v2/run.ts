/**
 * `npm run compare:v2`: the v2 API beside ton-http-api of PyPI on a devnet that stands still. Ends with status 1 when they
 * differ where nothing explains it. Fetches the package when it is not there.
 */
import { tonHttpApi } from '../foreign/programs.ts';
import { compare, linesOf } from './compare.ts';
import { questionsFor } from './questions.ts';
import { openStage } from './stage.ts';

const STEPS = Number(process.env.COMPARE_STEPS ?? 24);
const reference = await tonHttpApi();
if (reference === null) throw new Error('the reference cannot be had');
const say = (text: string): unknown => process.stderr.write(`${(performance.now() / 1000).toFixed(0)} s: ${text}\n`);
say('starting both');
const stage = await openStage(reference, { steps: STEPS, service: process.env.COMPARE_MEMORY !== '1' });
try {
  const questions = await questionsFor(stage, {
    accounts: Number(process.env.COMPARE_ACCOUNTS ?? 3),
    everyBlock: 1,
    longest: true,
  });
  say(`${questions.length} questions in two forms`);
  const comparison = await compare(stage, questions, ['plain', 'jsonRPC']);
  for (const line of linesOf(comparison)) process.stdout.write(`${line}\n`);
  if (comparison.unexplained.length > 0) process.exitCode = 1;
} finally {
  await stage.close();
}
