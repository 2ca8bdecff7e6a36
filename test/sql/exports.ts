/** Exports of whole steps: the same bytes for ever, in parts, one behind the other. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createQueryGate } from '../../clickhouse/gate.ts';
import { createReader } from '../../clickhouse/reader.ts';
import { createSlices, EXPORTED } from '../../src/api/export/slices.ts';
import { runExport } from '../../src/commands/export.ts';
import { drawn, rounds } from '../chance.ts';
import { askForeign, duckdb } from '../foreign/programs.ts';
import { ask, type SqlService } from './service.ts';

export function describeExports(service: () => SqlService): void {
  let asked = 0;
  // Each with a key of its own, so that no quota is shared.
  const get = (query: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Response> =>
    fetch(`${service().api.url}/api/export/${query}`, {
      headers: { 'x-limiting-key': `export-${asked++}`, ...headers },
      method,
    });
  /** Of a slice and those that follow it. */
  async function rowsFrom(query: string): Promise<string[]> {
    const lines: string[] = [];
    for (let next: string | undefined = query; next !== undefined; ) {
      const slice: Response = await get(next);
      expect([next, slice.status]).toEqual([next, 200]);
      lines.push(...(await slice.text()).split('\n').filter(Boolean));
      next = /^<\/api\/export\/(.+)>; rel="next"$/.exec(slice.headers.get('link') ?? '')?.[1];
    }
    return lines;
  }

  it('give the rows of steps, whichever way they are cut', async () => {
    const { head } = service();
    const read = drawn(EXPORTED, rounds(3, EXPORTED.length));
    const cut = read.slice(0, rounds(1, EXPORTED.length));
    for (const view of read) {
      const lines = await rowsFrom(`${view}?from=0&format=ndjson`);
      if (cut.includes(view)) {
        const parts = [
          await rowsFrom(`${view}?from=0&to=130&format=ndjson`),
          await rowsFrom(`${view}?from=131&to=${head}&format=ndjson`),
        ];
        expect(parts.flat()).toEqual(lines);
      }
      const response = await fetch(`${service().api.url}/api/sql`, {
        method: 'POST',
        body: `SELECT toUInt32(count()) FROM ton.${view}`,
        headers: { 'x-limiting-key': `export-${view}` },
      });
      expect(await response.json()).toMatchObject({ rows: [[lines.length]] });
    }
  });

  it('are asked for by their tag, their head, and their parts', async () => {
    const query = 'transactions?from=0&to=132&format=parquet';
    const whole = await get(query);
    const bytes = Buffer.from(await whole.arrayBuffer());
    const tag = whole.headers.get('etag') ?? '';
    expect(tag).toMatch(/^"[\w-]+"$/);
    expect(whole.headers.get('cache-control')).toContain('immutable');
    const exposed = whole.headers.get('access-control-expose-headers')?.split(', ');
    expect(exposed).toEqual(expect.arrayContaining(['ETag', 'Link', 'Content-Range', 'X-To-Seqno']));
    // A message from outside may come again.
    const messages = await get('messages?from=0&to=132&format=csv');
    expect(messages.headers.get('cache-control')).toBe('no-cache');
    expect((await get(query, { 'if-none-match': tag })).status).toBe(304);
    const alone = await get(query, {}, 'HEAD');
    expect([alone.headers.get('content-length'), alone.headers.get('etag')]).toEqual([String(bytes.length), tag]);
    for (const [range, from, to] of [
      ['bytes=0-3', 0, 4],
      ['bytes=-8', bytes.length - 8, bytes.length],
      [`bytes=10-${bytes.length * 2}`, 10, bytes.length],
    ] as const) {
      const part = await get(query, { range, 'if-range': tag });
      expect([part.status, part.headers.get('content-range')]).toEqual([
        206,
        `bytes ${from}-${to - 1}/${bytes.length}`,
      ]);
      expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(from, to))).toBe(true);
    }
    expect((await get(query, { range: `bytes=${bytes.length}-` })).status).toBe(416);
    expect((await get(query, { range: 'bytes=0-3', 'if-range': '"another"' })).status).toBe(200);
    expect((await get(query, { range: 'lines=0-3' })).status).toBe(200);
  });

  it('give the same bytes whatever parts the tables have', async () => {
    const { owner, projected, head } = service();
    const reader = createReader({
      ...{ url: projected.url, user: 'ton_reader', password: '', database: 'ton', maxConnections: 1 },
      kill: () => undefined,
    });
    const slices = createSlices({
      reader,
      gate: createQueryGate({ maxConcurrent: 1, maxQueued: 1 }),
      outgoing: { check: () => undefined },
      tables: async () => '',
      head: { seqno: head, reach: async () => undefined },
      timeoutMs: 3_000,
      // Each is made anew.
      maxBytes: 0,
    });
    const of = { view: 'transactions', from: 0, to: 132, key: 'parts', signal: new AbortController().signal } as const;
    const tags = async () => {
      const made = [await slices.get({ ...of, format: 'arrow' }), await slices.get({ ...of, format: 'parquet' })];
      return made.map(({ tag }) => tag);
    };
    try {
      await owner.command('OPTIMIZE TABLE transactions_by_lt FINAL');
      const before = await tags();
      await owner.command('INSERT INTO transactions_by_lt SELECT * FROM transactions_by_lt FINAL WHERE lt % 3 = 0');
      expect(await tags()).toEqual(before);
    } finally {
      reader.close();
    }
  });

  it('refuse what is not there', async () => {
    const { head } = service();
    expect((await get('accounts?from=0')).status).toBe(404);
    for (const query of ['blocks', 'blocks?from=x']) {
      const refused = await get(query);
      expect([refused.status, await refused.json()]).toEqual([422, { error: 'from: give a masterchain seqno' }]);
    }
    expect((await get(`blocks?from=0&to=${head + 1}`)).status).toBe(422);
    expect((await get(`blocks?from=${head}&to=${head - 1}`)).status).toBe(422);
    expect((await get('blocks?from=0', {}, 'POST')).status).toBe(405);
  });

  it('are read by DuckDB and pyarrow', async () => {
    const program = await duckdb();
    if (program === null) {
      // Said already; where it should be there it is a failure.
      expect(process.env.CI ?? '').toBe('');
      return;
    }
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-export-'));
    try {
      const [parquet, arrow] = ['parquet', 'arrow'].map((format) => join(folder, `transactions.${format}`));
      for (const path of [parquet, arrow]) {
        const response = await get(`transactions?from=0&to=132&format=${path.split('.').pop()}`);
        writeFileSync(path, new Uint8Array(await response.arrayBuffer()));
      }
      const sql = `SELECT toUInt32(count()), toString(sum(total_fees)), min(hash), toString(min(block_date)) FROM ton.transactions WHERE mc_block_seqno <= 132`;
      const { rows } = JSON.parse((await ask(service(), sql)).text);
      const [[count, fees, first, day]] = rows;
      expect(await askForeign(program, folder, parquet, arrow)).toEqual({
        duckdb: { rows: count, fees, first, day },
        pyarrow: { rows: count, columns: expect.arrayContaining(['account', 'hash', 'total_fees']), fees, first },
        stream: { rows: count, first },
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 400_000);

  it('are written by the command, which goes on where it stopped', async () => {
    const { api, head } = service();
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-export-'));
    try {
      const printed: string[] = [];
      const io = { print: (line: string) => void printed.push(line), signal: new AbortController().signal };
      const config = { host: '127.0.0.1', port: api.port, from: undefined, sqlTimeoutMs: 10_000 };
      expect(await runExport(config, ['blocks', folder], {}, io)).toBe(0);
      const files = readdirSync(folder);
      expect(files).toContainEqual(expect.stringMatching(new RegExp(`^blocks-\\d+-${head}\\.parquet$`)));
      expect(await runExport(config, ['blocks', folder], {}, io)).toBe(0);
      expect([readdirSync(folder), printed.length]).toEqual([files, files.length]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
