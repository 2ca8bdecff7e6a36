/** The soak of `npm run soak` with kills, for a quarter of a minute; for half an hour in the long run. */
import { expect, it } from 'vitest';
import { rounds, seed } from './chance.ts';
import { soak } from './soak/run.ts';
import { VICTIMS } from './soak/service.ts';

it(
  'a devnet under traffic with a small window and kills: each step once, no request that fails',
  async () => {
    const report = await soak({
      minutes: rounds(0.25, 30),
      killSeconds: rounds(3, 60),
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
  },
  rounds(900_000, 3_600_000),
);
