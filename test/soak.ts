/**
 * `npm run soak`: the soak of test/soak for SOAK_MINUTES (30), with steps every SOAK_BLOCK_MS (400) whose messages race,
 * with a kill every SOAK_KILL_SECONDS (0: none), by SOAK_CLIENTS (4), heard by SOAK_SUBSCRIBERS (20) WebSockets and as
 * many streams of server-sent events, and by a quarter as many webhooks. SOAK_KAFKA=1: over a real broker, which is
 * killed, too, with another API host, at which every other subscriber listens. Prints the figures; ends with status 1
 * when anything was wrong.
 */
import { type SoakReport, soak } from './soak/run.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const setting = (name: string, otherwise: number): number => Number(process.env[name] ?? otherwise);

/** Own memory of a role may grow by so much from the middle third to the last one. */
const MOST_GROWTH = 1.15;
const GROWTH_MB = 32;
/** Of the window's file, whose steps take 2 MB. */
const MOST_FILE_MB = 100;

const subscribers = setting('SOAK_SUBSCRIBERS', 20);
const options = {
  minutes: setting('SOAK_MINUTES', 30),
  broker: setting('SOAK_KAFKA', 0) === 1,
  killSeconds: setting('SOAK_KILL_SECONDS', 0),
  clients: setting('SOAK_CLIENTS', 4),
  subscribers: { sockets: subscribers, streams: subscribers, webhooks: Math.ceil(subscribers / 4) },
  settings: {
    blockTimeMs: setting('SOAK_BLOCK_MS', 400),
    // On a machine that does other things, too, queries may take long.
    queryTimeoutMs: 20_000,
    flags: ['--devnet-races', 'true'],
  },
  seed: setting('SOAK_SEED', Math.floor(Math.random() * 2 ** 31)),
};

function print(report: SoakReport): void {
  const { statuses, counts, excused, kills, memory } = report;
  say(`${report.seconds} s; ${report.steps} steps, ${report.blocks} blocks, ${report.transactions} transactions`);
  say(
    `window turned over ${report.turnovers} times, at last ${report.windowFirst} to ${report.windowHead}, file ${report.windowFileMb.join(', ')} MB; archive ${report.archiveFirst} to ${report.archiveHead}`,
  );
  say(
    `${report.requests} requests, p50 ${report.medianMs.toFixed(1)} ms, p99 ${report.p99Ms.toFixed(1)} ms, ${report.failureCount} failed, ${report.wrongCount} things wrong`,
  );
  for (const [name, count] of Object.entries(statuses)) say(`  ${name}: ${count}`);
  for (const [name, count] of Object.entries(counts)) say(`  ${name}: ${count}`);
  for (const [name, count] of Object.entries(kills)) say(`  killed ${name}: ${count}`);
  for (const [name, count] of Object.entries(excused)) say(`  cut by a kill: ${name}: ${count}`);
  say('memory in MB, mean of the first, middle and last third of the time (resident; own, without mapped files):');
  for (const { role, firstThird, middleThird, lastThird } of memory) {
    const thirds = [firstThird, middleThird, lastThird];
    say(`  ${role}: ${thirds.map((one) => one.residentMb).join(', ')}; ${thirds.map((one) => one.ownMb).join(', ')}`);
  }
  say(`verify: ${report.verify}`);
}

say(`soak with SOAK_SEED=${options.seed}`);
const report = await soak({ ...options, onProgress: say });
print(report);
const grown = report.memory.filter(
  ({ middleThird, lastThird }) => lastThird.ownMb > middleThird.ownMb * MOST_GROWTH + GROWTH_MB,
);
// A read that is not ended keeps all that is taken out from then on.
const [, , lastMb] = report.windowFileMb;
const isHeld = lastMb > MOST_FILE_MB;
if (isHeld) say(`! the window's file grows: ${lastMb} MB`);
// After kills memory begins anew, and tells nothing.
const leaking = options.killSeconds === 0 ? grown : [];
for (const { role } of leaking) say(`! memory of ${role} grows`);
process.exitCode = report.failureCount + report.wrongCount + leaking.length === 0 && !isHeld ? 0 : 1;
