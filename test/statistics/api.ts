/** What `/api/stats` says of hours and days, held to what other queries say of the same rows. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { ClickHouse } from '../../clickhouse/client.ts';
import { createQueryGate } from '../../clickhouse/gate.ts';
import { createClickHouseSource } from '../../clickhouse/queries/source.ts';
import { statsApi } from '../../src/api/stats/api.ts';
import { counters, points, subjectPoints } from '../../src/api/stats/schemas.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from '../api-server.ts';
import { madeHead } from '../made-chain.ts';

/** The tables as a service shows them whose head is this step. */
export function sourceAt(clickhouse: ClickHouse, seqno: number) {
  return createClickHouseSource(clickhouse, createQueryGate({ maxConcurrent: 2, maxQueued: 100 }), madeHead(seqno));
}

/** @param good tables of so many steps */
export function describeStatsApi(good: () => ClickHouse, steps: number): void {
  const rowsOf = (sql: string) => good().json(sql, z.record(z.string(), z.unknown()));
  let api: ApiServer;

  beforeAll(async () => {
    const tables = sourceAt(good(), steps);
    const apis = [statsApi(tables.statistics)];
    api = await serveApi(tables, { apis, limits: PATIENT_LIMITS, version: () => String(steps) });
  });
  afterAll(() => api?.close());

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const response = await fetch(`${api.url}/api/stats/${path}`);
    return { status: response.status, body: await response.json() };
  }

  /** What the same API says at an earlier head. */
  async function asOf(seqno: number, paths: readonly string[]): Promise<unknown[]> {
    const tables = sourceAt(good(), seqno);
    const then = await serveApi(tables, { apis: [statsApi(tables.statistics)], limits: PATIENT_LIMITS });
    try {
      return await Promise.all(paths.map(async (path) => (await fetch(`${then.url}/api/stats/${path}`)).json()));
    } finally {
      await then.close();
    }
  }

  // In the middle of an hour, at the first step behind an hour that is not counted yet, and at one that counts.
  it.each([3, 11, 14, 15, steps])('says at step %i what the transactions up to there say', async (seqno) => {
    const facts = await rowsOf(
      `SELECT toUInt32(intDiv(now, 3600) * 3600) AS bucket, count() AS transactions, uniqExact(account) AS accounts
       FROM transactions FINAL WHERE mc_seqno <= ${seqno} GROUP BY bucket ORDER BY bucket`,
    );
    const [transactions, active, daily, counted] = await asOf(seqno, [
      'transactions?resolution=hour',
      'active_accounts?resolution=hour',
      'transactions?resolution=day',
      'counters',
    ]);
    const told = points.parse(transactions);
    expect(told.mc_seqno).toBe(seqno);
    const values = (answer: typeof told) => answer.points.map(({ from, value }) => [from, value]);
    const wanted = z.array(
      z.object({ bucket: z.number(), transactions: z.coerce.number(), accounts: z.coerce.number() }),
    );
    const rows = wanted.parse(facts);
    expect(values(told).filter(([, value]) => value !== 0)).toEqual(rows.map((row) => [row.bucket, row.transactions]));
    const accounts = points.parse(active);
    expect(values(accounts).filter(([, value]) => value !== 0)).toEqual(rows.map((row) => [row.bucket, row.accounts]));
    const days = points.parse(daily);
    const sum = rows.reduce((all, { transactions }) => all + transactions, 0);
    expect(days.points.reduce((all, { value }) => all + Number(value), 0)).toBe(sum);
    const all = counters.parse(counted);
    expect(all.transactions).toBe(sum);
    const seen = `SETTINGS log_comment = '${seqno}'`;
    const hourly = await rowsOf(
      `SELECT toUInt32(hour) AS bucket, transactions, active_accounts AS accounts FROM ton.hourly ORDER BY hour ${seen}`,
    );
    expect(hourly).toEqual(facts);
    const [{ sent, opcodes }] = await rowsOf(
      `SELECT (SELECT count() FROM ton.messages WHERE direction = 'out' AND source IS NOT NULL AND destination IS NOT NULL) AS sent,
         (SELECT sum(messages) FROM ton.hourly_opcodes) AS opcodes ${seen}`,
    );
    expect(opcodes).toBe(sent);
    const [{ transfers, jettons }] = await rowsOf(
      `SELECT (SELECT count() FROM ton.jetton_events WHERE type = 'transfer') AS transfers,
         (SELECT sum(transfers) FROM ton.hourly_jettons) AS jettons ${seen}`,
    );
    expect(jettons).toBe(transfers);
    const [{ actions, types }] = await rowsOf(
      `SELECT (SELECT count() FROM ton.actions WHERE NOT is_part) AS actions,
         (SELECT sum(actions) FROM ton.hourly_actions) AS types ${seen}`,
    );
    expect(types).toBe(actions);
  });

  it.each([
    ['opcodes', 'messages'],
    ['jettons', 'transfers'],
    ['actions', 'actions'],
  ])('tells of %s by hour, by day and of one alone', async (series, unit) => {
    const { body } = await get(`${series}?limit=256`);
    const hours = subjectPoints.parse(body);
    expect(hours.unit).toBe(unit);
    const all = new Map<string, number>();
    for (const { value } of hours.points) {
      for (const { subject, count } of value) all.set(subject, (all.get(subject) ?? 0) + count);
      expect(value.map(({ count }) => count)).toEqual(value.map(({ count }) => count).sort((a, b) => b - a));
    }
    expect(all.size).toBeGreaterThan(0);
    const days = subjectPoints.parse((await get(`${series}?resolution=day&limit=256`)).body);
    const byDay = new Map<string, number>();
    for (const { value } of days.points) {
      for (const { subject, count } of value) byDay.set(subject, (byDay.get(subject) ?? 0) + count);
    }
    expect([...byDay].sort()).toEqual([...all].sort());
    const [[subject, count]] = all;
    const name = { opcodes: 'opcode', jettons: 'jetton', actions: 'type' }[series];
    const one = subjectPoints.parse((await get(`${series}?${name}=${encodeURIComponent(subject || 'none')}`)).body);
    expect(one.points.flatMap(({ value }) => value).reduce((sum, row) => sum + row.count, 0)).toBe(count);
    expect(one.points.flatMap(({ value }) => value).every((row) => row.subject === subject)).toBe(true);
  });

  it.each([
    ['transactions?resolution=week', 422, 'resolution: resolution must be hour or day'],
    ['transactions?from=soon', 422, 'from cannot be read'],
    ['transactions?from=20&to=10', 422, 'from must be before to'],
    ['opcodes?opcode=zz', 422, 'opcode cannot be read'],
    ['transactions?from=1700000000000&to=1700000000001', 422, 'from must be before to'],
    ['opcodes?limit=1000', 422, 'limit: must be a whole number from 1 to 256'],
    ['jettons?jetton=1', 422, 'jetton cannot be read'],
    ["actions?type=a'b", 422, 'type cannot be read'],
  ])('refuses %s', async (path, status, error) => {
    expect(await get(path)).toEqual({ status, body: { error } });
  });

  // Milliseconds, say: times are read up to what 32 bits hold.
  it.each(['hour', 'day'])('has no %s that begins behind the head', async (resolution) => {
    for (const series of ['transactions', 'active_accounts', 'jettons']) {
      const { status, body } = await get(`${series}?resolution=${resolution}&from=1700000000000`);
      expect([status, body]).toMatchObject([200, { series, points: [] }]);
    }
  });

  it('knows no other series', async () => {
    expect((await fetch(`${api.url}/api/stats/prices`)).status).toBe(404);
  });

  it('has a document with every series', async () => {
    const document = z.object({ paths: z.record(z.string(), z.unknown()) });
    const { paths } = document.parse((await get('openapi.json')).body);
    expect(Object.keys(paths).sort()).toEqual(
      [
        ...['blocks', 'transactions', 'failed_transactions', 'messages', 'external_messages', 'traces', 'new_accounts'],
        ...['deployments', 'active_accounts', 'gas', 'fees', 'value', 'opcodes', 'jettons', 'actions', 'counters'],
      ]
        .map((name) => `/${name}`)
        .sort(),
    );
  });
}
