/** Statements by chance against the endpoint: what passes its rings is held to what the server itself says of it. */
import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import { z } from 'zod';
import { isAllowed } from '../../src/api/sql/functions.ts';
import { readStatement } from '../../src/api/sql/lexer.ts';
import { type Draw, statementOf, wordsOf } from './fuzz.ts';
import { ask, type SqlService } from './service.ts';

export interface Fuzzed {
  made: number;
  /** Different ones that the lexer lets through: these are sent. */
  sent: number;
  /** By the status of their answer. */
  answers: Record<number, number>;
  /** What must not be, with the statement. */
  findings: string[];
  slowestMs: number;
}

const line = z.object({ explain: z.string() });
const stored = z.object({ tables: z.string(), rows: z.string() });

/** @param lanes statements on their way at a time */
export async function fuzz(
  service: SqlService,
  { count, lanes, draw }: { count: number; lanes: number; draw: Draw },
): Promise<Fuzzed> {
  const { word, path } = service.secret;
  const reached = await listen();
  // Rows of the same key become one by and by: that is no write.
  await service.owner.command('SYSTEM STOP MERGES');
  const [words, before] = [await wordsOf(service.owner), await state()];
  const told: Fuzzed = { made: 0, sent: 0, answers: {}, findings: [], slowestMs: 0 };
  const seen = new Set<string>();

  /** The tables, and the files beside the one that nobody may read. */
  async function state(): Promise<string> {
    const [found] = await service.owner.json(
      `SELECT toString(groupArray((database, name, engine))) AS tables, toString(sum(total_rows)) AS rows
       FROM (SELECT * FROM system.tables WHERE database != 'system' ORDER BY database, name)`,
      stored,
    );
    return JSON.stringify([found, readdirSync(dirname(path))]);
  }

  function next(): string | null {
    while (told.made < count) {
      told.made++;
      const sql = statementOf(draw, words, path).replaceAll('127.0.0.1:9/', `127.0.0.1:${reached.port}/`);
      const name = hash('sha1', sql, 'base64').slice(0, 14);
      if (seen.has(name)) continue;
      try {
        readStatement(sql);
      } catch {
        // The other rings see only what passes the first.
        continue;
      }
      seen.add(name);
      return sql;
    }
    return null;
  }

  async function lane(): Promise<void> {
    for (let sql = next(); sql !== null; sql = next()) {
      const began = performance.now();
      const { status, text } = await ask(service, { sql, limit: 5, params: { p: 'a', x: 'a', t: 'a' } });
      told.slowestMs = Math.max(told.slowestMs, performance.now() - began);
      told.sent++;
      told.answers[status] = (told.answers[status] ?? 0) + 1;
      // 503: the tables could not be asked, which a statement must not bring about either.
      const isWrong = status >= 500 || text.includes(word) || (status === 200 && !(await isWithinViews(sql)));
      if (isWrong) told.findings.push(`${status} ${sql}: ${text.slice(0, 300)}`);
    }
  }

  /** What the analyzer makes of it, which knows nothing of our lists. */
  async function isWithinViews(sql: string): Promise<boolean> {
    const tree = await service.owner
      .withDatabase('ton')
      .json(`EXPLAIN QUERY TREE ${readStatement(sql).sql.replaceAll(/\{[pxt]:String\}/g, "'a'")}`, line)
      .catch(() => []);
    const lines = tree.map(({ explain }) => explain);
    return lines.every((one) => {
      const table = /table_name: ([\w.]+)/.exec(one)?.[1] ?? 'system.one';
      const name = /FUNCTION id: .*function_name: (\w+)/.exec(one)?.[1] ?? 'identity';
      // An aggregate of NULL becomes `nothing`, which has no name in the language.
      const isFunction = isAllowed(name) || /^nothing(Null|UInt64)?$/.test(name);
      return /^(ton\.\w+|system\.one)$/.test(table) && isFunction && !one.includes('TABLE_FUNCTION');
    });
  }

  try {
    await Promise.all(Array.from({ length: lanes }, lane));
    const after = await state();
    if (after !== before) told.findings.push(`something was written: ${before} became ${after}`);
    if (reached.count() > 0) told.findings.push(`${reached.count()} connections were made`);
    return told;
  } finally {
    await service.owner.command('SYSTEM START MERGES');
    await reached.close();
  }
}

/** Counts who connects. */
async function listen(): Promise<{ port: number; count(): number; close(): Promise<void> }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    port: address.port,
    count: () => connections,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
