/** The soak of `npm run soak` with kills, for a quarter of a minute; for half an hour in the long run. */
import { expect, it } from 'vitest';
import { isLong, rounds, seed } from './chance.ts';
import { soak } from './soak/run.ts';
import { ALL_VICTIMS, VICTIMS } from './soak/service.ts';

it(
  'a devnet under traffic with a small window and kills: each step once, no request that fails',
  async () => {
    const victims = rounds(1, 2) === 1 ? VICTIMS : ALL_VICTIMS;
    const report = await soak({
      minutes: rounds(0.1, 30),
      killSeconds: rounds(1, 60),
      leastKills: victims.length,
      clients: rounds(2, 3),
      pauseMs: rounds(250, 0),
      ...(isLong ? { subscribers: { sockets: 20, streams: 20, webhooks: 5 } } : {}),
      victims,
      seed,
      settings: {
        blockTimeMs: rounds(1000, 250),
        rate: rounds(3, 12),
        // A few seconds of steps.
        windowBytes: rounds(256, 512) * 1024,
        // On a machine that runs other tests beside this one queries may take long.
        queryTimeoutMs: 20_000,
      },
    });
    expect(report.failures).toEqual([]);
    expect(report.wrongs).toEqual([]);
    expect(report.verify).toMatch(/^\d+ steps compared .*: 0 differences, 0 gaps$/);
    expect(Object.keys(report.kills)).toEqual([...victims].sort());
    expect(report.turnovers).toBeGreaterThan(0);
    expect(report.requests).toBeGreaterThan(200);
    expect(report.counts['heads asked for']).toBeGreaterThan(10);
    expect(report.counts['events "chain"']).toBeGreaterThan(10);
    expect(report.statuses['POST /devnet/faucet 200']).toBeGreaterThan(0);
    expect(report.counts['steps compared with the log']).toBeGreaterThan(20);
    if (isLong) {
      expect(report.counts['subscribers compared with the log']).toBe(45);
      expect(report.counts['events that subscribers heard']).toBeGreaterThan(1000);
    }
    const { seconds, steps, requests, turnovers, kills } = report;
    process.stdout.write(`soak: ${JSON.stringify({ seconds, steps, requests, turnovers, kills })}\n`);
  },
  rounds(1_500_000, 3_600_000),
);
