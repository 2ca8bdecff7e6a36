import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type ErrorRequestHandler } from 'express';
import { describe, expect, it } from 'vitest';
import { ClickHouseQueryError } from '../../../clickhouse/client.ts';
import { createQueryGate } from '../../../clickhouse/gate.ts';
import type { Asked } from '../../../clickhouse/reader.ts';
import { exportRouter } from './router.ts';
import { createSlices, SliceTooMuch } from './slices.ts';

const FIRST = 1_000;
const HEAD = 1_099;

const failed = { label: 'a query of SQL', queryId: '', detail: 'Query memory limit exceeded' } as const;
const OUT_OF_MEMORY = new ClickHouseQueryError({ ...failed, code: 'memory', serverType: 'MEMORY_LIMIT_EXCEEDED' });

interface Trouble {
  room: number;
  failure: Error;
  /** Not even a single row is found in time. */
  isBusy: boolean;
}

/** Of a view with one row a step; an answer may have `most` of them, and more than `room` take more than a query may. */
function slicesOf(
  most: number,
  { room = Number.POSITIVE_INFINITY, failure = OUT_OF_MEMORY, isBusy = false }: Partial<Trouble> = {},
) {
  let asked = 0;
  let tables = 'first';
  async function ask({ sql }: Asked) {
    asked++;
    if (isBusy) throw new ClickHouseQueryError({ ...failed, code: 'timeout', detail: 'no answer' });
    const [from, to = HEAD] = [...sql.matchAll(/[<>]= (\d+)/g)].map(([, seqno]) => Number(seqno));
    const steps = Array.from({ length: HEAD - FIRST + 1 }, (_, i) => FIRST + i).filter((at) => at >= from && at <= to);
    const isCut = sql.includes('SELECT *');
    if (!sql.includes('LIMIT 1') && steps.length > room) throw failure;
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

const refuseAs: ErrorRequestHandler = (error, _request, response, _next) => void response.status(error.status).end();

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
    const refused = slices.get({ ...question, from: FIRST });
    await expect(refused).rejects.toMatchObject({ status: 400, steps: null });
    await expect(refused).rejects.toThrow(
      'step 1000 of messages alone has more bytes than an answer may: parquet has fewer; go on behind it with from=1001',
    );
  });
});

describe('slices that meet a limit of queries', () => {
  it('are refused with how many steps to ask for instead, until they fit', async () => {
    const { slices } = slicesOf(1_000, { room: 7 });
    const tries: (number | undefined)[] = [];
    for (let steps: number | undefined; ; ) {
      tries.push(steps);
      try {
        const { from, to, asked } = await slices.get({ ...question, from: 0, ...(steps && { steps }) });
        expect([tries, from, to, asked]).toEqual([[undefined, 10, 1], 0, FIRST, HEAD]);
        break;
      } catch (error) {
        if (!(error instanceof SliceTooMuch) || error.steps === null) throw error;
        steps = error.steps;
      }
    }
  });

  it('say which limit it is, and where to go on behind a step that does not fit alone', async () => {
    const of = { ...question, from: FIRST, to: FIRST + 9 };
    const { slices } = slicesOf(1_000, { room: 0 });
    await expect(slices.get(of)).rejects.toThrow(
      'steps 1000 to 1009 of messages need more memory than a query may take (--sql-memory); ask for fewer with steps=1',
    );
    const alone =
      'step 1000 of messages alone needs more memory than a query may take (--sql-memory); go on behind it with from=1001';
    await expect(slices.get({ ...of, steps: 1 })).rejects.toThrow(alone);
    const late = new ClickHouseQueryError({ ...failed, code: 'timeout', detail: 'no answer' });
    await expect(slicesOf(1_000, { room: 0, failure: late }).slices.get(of)).rejects.toThrow(
      'steps 1000 to 1009 of messages take longer than a query may (--sql-timeout-ms); ask for fewer with steps=1',
    );
    const busy = new ClickHouseQueryError({ ...failed, code: 'busy' });
    await expect(slicesOf(1_000, { room: 0, failure: busy }).slices.get(of)).rejects.toBe(busy);
  });

  it('are to be asked for later where not even their first step is found in time', async () => {
    const { slices } = slicesOf(1_000, { isBusy: true });
    await expect(slices.get({ ...question, from: 0 })).rejects.toMatchObject({
      status: 503,
      retryAfterSeconds: 1,
      message: 'the tables answer too slowly now: try again soon',
    });
  });
});

it('a refused slice tells in its head how many steps to ask for, and the one behind a short one has as many', async () => {
  const { slices } = slicesOf(1_000, { room: 7 });
  const router = exportRouter(async () => slices, { send: (response, sent) => void response.end(sent) });
  const server = createServer(express().use(router).use(refuseAs)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/api/export/messages?format=csv&from=1000`;
    const refused = await fetch(url);
    expect([refused.status, refused.headers.get('x-steps')]).toEqual([400, '10']);
    const short = await fetch(`${url}&steps=6`);
    expect([short.status, short.headers.get('link'), short.headers.get('content-location')]).toEqual([
      200,
      '</api/export/messages?from=1006&to=1099&format=csv&steps=6>; rel="next"',
      '/api/export/messages?from=1000&to=1005&format=csv',
    ]);
    expect((await fetch(`${url}&steps=0`)).status).toBe(422);
    // Of a variable that a script has not set.
    for (const nothing of ['from=', 'to=', 'to=%20', 'steps=']) {
      expect([nothing, (await fetch(`${url}&${nothing}`)).status]).toEqual([nothing, 422]);
    }
  } finally {
    server.closeAllConnections();
    server.close();
  }
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
