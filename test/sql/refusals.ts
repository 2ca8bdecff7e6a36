/** What SQL does not do: what reads, costs or tells more than it may. */
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { VIEWS } from '../../clickhouse/views/all.ts';
import { FUNCTIONS, isAllowed } from '../../src/api/sql/functions.ts';
import { drawn, isLong, random, rounds } from '../chance.ts';
import { attacks, BOMBS } from './attacks.ts';
import { ask, type SqlService, UNFIT } from './service.ts';

/** Of each attack. */
const PLACES = 4;
/** Each of them may take all the time that a statement has. */
const SOME_BOMBS = 6;
const refusal = z.object({ error: z.string() });

/** Each attack in places by chance, every place as often as any other; in the long run in all of them. */
function inSomePlaces(each: readonly string[][]): string[] {
  if (isLong) return each.flat();
  const places = drawn(Object.keys(each[0]).map(Number), each.length * PLACES);
  return each.flatMap((one, i) => [...new Set(places.slice(i * PLACES, (i + 1) * PLACES))].map((place) => one[place]));
}

/** @param hourly queries of a key */
export function describeRefusals(service: () => SqlService, hourly: number): void {
  it.each(UNFIT)('to read as a user who $why', async ({ name, why }) => {
    const other = await service().as(name);
    const { status, headers } = await ask(other, 'SELECT 1');
    expect([status, headers.get('retry-after')]).toEqual([503, '5']);
    expect(other.reported).toEqual([expect.objectContaining({ message: expect.stringContaining(why) })]);
    await other.close();
  });

  it('to answer without all views', async () => {
    const { owner } = service();
    await owner.command('RENAME TABLE ton.opcodes TO ton.renamed', { label: 'hiding a view' });
    const other = await service().as('ton_reader');
    try {
      expect((await ask(other, 'SELECT 1')).status).toBe(503);
      expect(String(other.reported)).toContain('has no view opcodes');
    } finally {
      await owner.command('RENAME TABLE ton.renamed TO ton.opcodes', { label: 'showing it again' });
      await other.close();
    }
  });

  it('every attack wherever it is placed, and reads and writes no file', async () => {
    const { path, word } = service().secret;
    const answered: string[] = [];
    for (const sql of attacks(path, inSomePlaces)) {
      const { status, text } = await ask(service(), { sql, params: { p: 'a', x: 'a', t: 'a' } });
      if (status === 200 || status >= 500 || text.includes(word))
        answered.push(`${status} ${sql}: ${text.slice(0, 200)}`);
      refusal.parse(JSON.parse(text));
    }
    expect(answered).toEqual([]);
    expect(existsSync(`${path}.out`)).toBe(false);
  });

  it('every function of the server that is not offered, called or named', async () => {
    const listed = await service().owner.json('SELECT name FROM system.functions', z.object({ name: z.string() }));
    // A bare name may be that of a column.
    const columns = new Set(VIEWS.flatMap((view) => Object.keys(view.columns)));
    const others = listed
      .map(({ name }) => name)
      .filter((name) => /^\w+$/.test(name) && !isAllowed(name) && !columns.has(name));
    expect(others.length).toBeGreaterThan(500);
    // By chance: all of them are a matter of the list, which the next test is about.
    for (let i = 0; i < rounds(40, others.length); i++) {
      const name = others[rounds(random(others.length), i)];
      for (const sql of [`SELECT ${name}()`, `SELECT arrayMap(${name}, [1])`, `SELECT \`${name}\`(1)`]) {
        const { status, text } = await ask(service(), sql);
        // Some have a form of their own, which the parser refuses with other arguments.
        expect([sql, status === 403 || (status === 400 && /Syntax error/.test(text))]).toEqual([sql, true]);
      }
    }
  }, 600_000);

  it('nothing else by the name of a function that it offers', async () => {
    const listed = await service().owner.json(
      'SELECT name, alias_to FROM system.functions',
      z.object({ name: z.string(), alias_to: z.string() }),
    );
    const names = new Set(listed.map(({ name }) => name));
    expect(FUNCTIONS.filter((name) => !names.has(name))).toEqual([]);
    const offered = new Set(FUNCTIONS);
    expect(
      listed
        .filter(({ alias_to }) => alias_to !== '' && !offered.has(alias_to))
        .filter(({ name }) => offered.has(name)),
    ).toEqual([]);
    // Names are compared without their case.
    const byCase = [...names].filter((name) => isAllowed(name) && !offered.has(name));
    expect(byCase).toEqual(['_CAST']);
  });

  it('every table function', async () => {
    const listed = await service().owner.json(
      'SELECT name FROM system.table_functions',
      z.object({ name: z.string() }),
    );
    expect(listed.length).toBeGreaterThan(50);
    for (const { name } of listed) {
      const { status } = await ask(service(), `SELECT * FROM ${name}('a', 'b')`);
      expect([name, [400, 403].includes(status)]).toEqual([name, true]);
    }
  });

  it.each(drawn(BOMBS, rounds(SOME_BOMBS, BOMBS.length)).map((one) => [one.slice(0, 60), one]))(
    '%s, within its limits',
    async (_, sql) => {
      const { status, text } = await ask(service(), { sql, format: 'csv' });
      expect([200, 400, 413]).toContain(status);
      expect(text).not.toMatch(/version|tonstream|ton_reader|\/tmp|127\.0\.0\.1|__table/);
      expect((await ask(service(), 'SELECT 1')).status).toBe(200);
    },
    20_000,
  );

  it('says what is wrong, and nothing of the server', async () => {
    const said = async (sql: string): Promise<string> =>
      refusal.parse(JSON.parse((await ask(service(), sql)).text)).error;
    expect(await said('SELECT hsh FROM ton.transactions')).toMatch(/Unknown.*`hsh`.*[Mm]aybe.*hash/);
    expect(await said('SELECT 1 FROM ton.blocs')).toMatch(/blocs/);
    expect(await said('SELECT (1')).toMatch(/Syntax error/);
    expect(await said("SELECT file('x')")).toBe('the function file is not allowed');
    expect(await said('SELECT 1 SETTINGS max_threads = 1')).toBe('SETTINGS is not allowed here');
    for (const sql of [
      'SELECT hsh FROM ton.transactions',
      'SELECT 1 FROM ton.blocs',
      'SELECT toUInt8(account) FROM ton.transactions',
      'SELECT 1 FROM ton.x',
    ]) {
      expect(await said(sql)).not.toMatch(/version|tonstream|ton_reader|_by_lt|__table/);
    }
  });

  it('a key that has used up its hour, and no other', async () => {
    const statuses: number[] = [];
    let later: string | null = null;
    for (let i = 0; i <= hourly; i++) {
      const { status, headers } = await ask(service(), 'SELECT mc_seqno FROM ton.head', { key: 'greedy' });
      statuses.push(status);
      later ??= headers.get('retry-after');
    }
    expect(statuses[0]).toBe(200);
    expect(statuses.at(-1)).toBe(429);
    expect(Number(later)).toBeGreaterThan(0);
    expect((await ask(service(), 'SELECT mc_seqno FROM ton.head', { key: 'modest' })).status).toBe(200);
  });

  // A single call of a function is not interrupted, and can be made to take minutes.
  it('more queries at a time than some, though nobody waits for them', async () => {
    const { url } = service().projected;
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const headers = { 'x-clickhouse-user': 'ton_reader' };
        return (await fetch(url, { method: 'POST', body: 'SELECT sleep(2)', headers })).status;
      }),
    );
    // Twice what may run at a time: on a slow machine some come when others have ended.
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(20);
    expect((await ask(service(), 'SELECT 1')).status).toBe(200);
  });

  it('ends what nobody waits for any more', async () => {
    const long = BOMBS[3];
    const running = (seconds = 0) =>
      service().owner.json(
        `SELECT query_id FROM system.processes WHERE user = 'ton_reader' AND elapsed >= ${seconds}`,
        z.object({ query_id: z.string() }),
      );
    // What was asked before may be on its way out still.
    while ((await running()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    const hangUp = new AbortController();
    const asked = ask(service(), long, { signal: hangUp.signal }).catch(() => 'gone');
    // The check of a statement, which is one itself, takes a moment only: behind that nothing else is asked.
    while ((await running(0.3)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    hangUp.abort();
    expect(await asked).toBe('gone');
    let looks = 0;
    while ((await running()).length > 0 && looks < 200) {
      looks++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await running()).toEqual([]);
  });
}
