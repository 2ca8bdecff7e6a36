import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { FORMATS } from './formats.ts';

const csvCell = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const facts = { mcSeqno: 7, elapsedMs: 1.4 };
const texts = fc.array(fc.string({ unit: fc.constantFrom('a', '"', '\n', ',', '\\', 'ä') }), { maxLength: 6 });

describe('an answer that has one row too many', () => {
  it('loses that row alone in CSV, whatever is in it', () => {
    const property = fc.property(texts, fc.boolean(), (cells, more) => {
      const lines = ['"text"', ...cells.map(csvCell)].map((line) => `${line}\n`);
      const extra = more ? [`${csvCell('"\n"')}\n`] : [];
      const bytes = Buffer.from([...lines, ...extra].join(''));
      const rows = cells.length + extra.length;
      const { body, truncated } = FORMATS.csv.body({ bytes, rows, rowsRead: 0 }, { ...facts, limit: cells.length });
      expect([body.toString(), truncated]).toEqual([lines.join(''), more]);
    });
    fc.assert(property);
  });

  it('loses that row alone in JSON and in lines of JSON', () => {
    const schema = z.object({ rows: z.array(z.tuple([z.string()])), truncated: z.boolean(), columns: z.unknown() });
    const property = fc.property(texts, fc.boolean(), (cells, more) => {
      const all = more ? [...cells, 'x\n'] : cells;
      const told = (lines: unknown[]) => ({
        bytes: Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
        rows: all.length,
        rowsRead: 3,
      });
      const limit = { ...facts, limit: cells.length };
      const { body } = FORMATS.json.body(told([['text'], ['String'], ...all.map((cell) => [cell])]), limit);
      const rows = cells.map((cell) => [cell]);
      expect(schema.parse(JSON.parse(body.toString()))).toEqual({
        rows,
        truncated: more,
        columns: [{ name: 'text', type: 'String' }],
      });
      const lines = FORMATS.ndjson.body(told(all), limit).body.toString().split('\n').slice(0, -1);
      expect(lines.map((line) => JSON.parse(line))).toEqual(cells);
    });
    fc.assert(property);
  });

  it('is refused in Parquet, which cannot be cut', () => {
    const told = { bytes: Buffer.from('PAR1'), rows: 3, rowsRead: 3 };
    expect(() => FORMATS.parquet.body(told, { ...facts, limit: 2 })).toThrow('more than 2 rows');
    expect(FORMATS.parquet.body(told, { ...facts, limit: 3 }).truncated).toBe(false);
  });
});
