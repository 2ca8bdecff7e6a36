/**
 * Many statements by chance against the endpoint of SQL. Run by `npm run fuzz:sql`: FUZZ_STATEMENTS (1,000,000) in
 * rounds of FUZZ_ROUND (50,000), each with a seed of its own, from FUZZ_SEED (1) on, as many rounds as begin in
 * FUZZ_MINUTES (1,000). Prints a line a round, and ends with status 1 when anything was found.
 */
import type { Draw } from './fuzz.ts';
import { fuzz } from './fuzzing.ts';
import { startSql } from './service.ts';

const STATEMENTS = Number(process.env.FUZZ_STATEMENTS ?? 1_000_000);
const ROUND = Number(process.env.FUZZ_ROUND ?? 50_000);
const SEED = Number(process.env.FUZZ_SEED ?? 1);
const MINUTES = Number(process.env.FUZZ_MINUTES ?? 1_000);
const LANES = 3;
const MODULUS = 2_147_483_647;

/** Park and Miller's generator. */
function drawOf(seed: number): Draw {
  let state = 1 + ((seed * 7_919) % (MODULUS - 1));
  return (below) => {
    state = (state * 48_271) % MODULUS;
    return state % below;
  };
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

const LIMITS = ['--sql-queries', String(LANES), '--sql-timeout-ms', '3000', '--sql-memory', '100M'];
/** The keys of so many statements share quotas. */
const UNMETERED = ['--sql-hourly-queries', '1e9', '--sql-hourly-rows', '1e15', '--sql-hourly-seconds', '1e6'];
const service = await startSql([...LIMITS, ...UNMETERED]);
let [made, found] = [0, 0];
try {
  const end = performance.now() + MINUTES * 60_000;
  for (let seed = SEED; made < STATEMENTS && performance.now() < end; seed++) {
    const began = performance.now();
    const count = Math.min(ROUND, STATEMENTS - made);
    const { sent, answers, findings, slowestMs } = await fuzz(service, { count, lanes: LANES, draw: drawOf(seed) });
    made += count;
    found += findings.length;
    for (const one of findings) print(`FOUND ${one}`);
    const seconds = Math.round((performance.now() - began) / 1000);
    print(
      `seed ${seed}: ${count} made, ${sent} different ones sent, ${JSON.stringify(answers)}, ` +
        `slowest ${Math.round(slowestMs)} ms, ${seconds} s; ${made} in all, ${found} findings`,
    );
  }
  if (service.reported.length + service.api.reported.length > 0) {
    for (const error of [...service.reported, ...service.api.reported].slice(0, 10)) print(`REPORTED ${String(error)}`);
    found++;
  }
} finally {
  await service.close();
}
process.exitCode = found > 0 ? 1 : 0;
