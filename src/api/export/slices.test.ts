import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { describe, expect, it } from 'vitest';
import { ClickHouseQueryError } from '../../../clickhouse/client.ts';
import { createQueryGate } from '../../../clickhouse/gate.ts';
import type { Asked } from '../../../clickhouse/reader.ts';
import { exportRouter } from './router.ts';
import { createSlices } from './slices.ts';

const FIRST = 1_000;
const HEAD = 1_099;

/** Of a view with one row a step; an answer may have `most` of them. */
function slicesOf(most: number) {
  let asked = 0;
  let tables = 'first';
  async function ask({ sql }: Asked) {
    asked++;
    const [from, to = HEAD] = [...sql.matchAll(/[<>]= (\d+)/g)].map(([, seqno]) => Number(seqno));
    const steps = Array.from({ length: HEAD - FIRST + 1 }, (_, i) => FIRST + i).filter((at) => at >= from && at <= to);
    const isCut = sql.includes('SELECT *');
    if (isCut && steps.length > most) {
      const detail = 'Limit for result exceeded, max bytes: 64.00 MiB (code 396, TOO_MANY_ROWS_OR_BYTES)';
      const failure = { code: 'too_large', label: 'a query of SQL', queryId: '', detail } as const;
      throw new ClickHouseQueryError({ ...failure, serverType: 'TOO_MANY_ROWS_OR_BYTES' });
    }
    const shown = sql.includes('LIMIT 1') ? steps.slice(0, 1) : steps;
    const lines = shown.map(
      (seqno) => `${isCut ? (tables === 'first' ? seqno : -seqno) : JSON.stringify({ seqno, rows: 1 })}\n`,
    );
    return { bytes: Buffer.from(lines.join('')), rows: shown.length, rowsRead: 0 };
  }
  const slices = createSlices({
    reader: { ask, close: () => undefined },
    gate: createQueryGate({ maxConcurrent: 1, maxQueued: 1 }),
    outgoing: { check: () => undefined },
    tables: async () => tables,
    head: { seqno: HEAD, reach: async () => undefined },
    timeoutMs: 1_000,
    maxBytes: 1_000_000,
  });
  const rebuild = (): void => {
    tables = 'second';
  };
  return { slices, rebuild, asked: () => asked };
}

const question = { view: 'messages', format: 'csv', to: null, key: '', signal: new AbortController().signal } as const;

describe('slices of which each may have so many bytes', () => {
  it('have fewer steps where their rows are large, and every row once', async () => {
    const { slices } = slicesOf(30);
    const rows: number[] = [];
    const ends: number[] = [];
    for (let from = 0; from <= HEAD; ) {
      const { body, to } = await slices.get({ ...question, from });
      rows.push(...body.toString().split('\n').filter(Boolean).map(Number));
      ends.push(to);
      from = to + 1;
    }
    expect(rows).toEqual(Array.from({ length: 100 }, (_, i) => FIRST + i));
    expect(ends.length).toBeLessThan(8);
  });

  it('are not made too large again for each part that is asked for', async () => {
    const { slices, asked } = slicesOf(30);
    const first = await slices.get({ ...question, from: 0 });
    const before = asked();
    const again = await slices.get({ ...question, from: 0 });
    expect([again.to, again.tag, asked() - before]).toEqual([first.to, first.tag, 2]);
  });

  it('are made anew once other tables are in the place of those they were made of', async () => {
    const { slices, rebuild } = slicesOf(1_000);
    const of = { ...question, from: FIRST, to: FIRST + 1 };
    expect((await slices.get(of)).body.toString()).toBe('1000\n1001\n');
    rebuild();
    expect((await slices.get(of)).body.toString()).toBe('-1000\n-1001\n');
  });

  it('are refused where one step has more', async () => {
    const { slices } = slicesOf(0);
    await expect(slices.get({ ...question, from: FIRST })).rejects.toThrow('Limit for result exceeded');
  });
});

it('a part of a slice keeps no more in memory than it has, however slowly it is read', async () => {
  const body = Buffer.alloc(1_000_000, 'x');
  const facts = { contentType: 'text/csv', tag: '"a"', isFixed: true, from: 1, to: 2, asked: 2 };
  let kept = 0;
  const router = exportRouter(async () => ({ get: async () => ({ body, ...facts }) }), {
    send(response, sent) {
      kept = sent.buffer.byteLength;
      response.end(sent);
    },
  });
  const server = createServer(express().use(router));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/api/export/blocks?from=1&to=2`;
    const part = await fetch(url, { headers: { range: 'bytes=10-99' } });
    expect([part.status, (await part.text()).length]).toEqual([206, 90]);
    expect(kept).toBeLessThan(body.length / 10);
    // What it says of the slice is not true of a refusal.
    const none = await fetch(url, { headers: { range: 'bytes=1000000-' } });
    expect([none.status, none.headers.get('cache-control')]).toEqual([416, 'no-store']);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
