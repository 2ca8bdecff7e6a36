/** The soak of `npm run soak`, for a minute, with kills; the long one is run by hand. */
import { expect, it } from 'vitest';
import { soak } from './soak/run.ts';
import { VICTIMS } from './soak/service.ts';

const seed = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 2 ** 31));

it('a devnet under traffic with a small window and kills: each step once, no request that fails', async () => {
  process.stdout.write(`SOAK_SEED=${seed}\n`);
  const report = await soak({
    minutes: 0.5,
    killSeconds: 5,
    leastKills: VICTIMS.length,
    clients: 3,
    seed,
    // Whole steps of a second or so; on a machine that runs other tests beside this one queries may take long.
    settings: { windowBytes: 512 * 1024, queryTimeoutMs: 20_000 },
  });
  expect(report.failures).toEqual([]);
  expect(report.wrongs).toEqual([]);
  expect(report.verify).toMatch(/^\d+ steps compared .*: 0 differences, 0 gaps$/);
  expect(Object.keys(report.kills)).toEqual([...VICTIMS].sort());
  expect(report.turnovers).toBeGreaterThan(0);
  expect(report.requests).toBeGreaterThan(200);
  expect(report.counts['heads asked for']).toBeGreaterThan(10);
  expect(report.counts['events "chain"']).toBeGreaterThan(10);
  expect(report.statuses['POST /devnet/faucet 200']).toBeGreaterThan(0);
  expect(report.counts['steps compared with the log']).toBeGreaterThan(20);
  const { seconds, steps, requests, turnovers, kills } = report;
  process.stdout.write(`soak: ${JSON.stringify({ seconds, steps, requests, turnovers, kills })}\n`);
}, 900_000);
