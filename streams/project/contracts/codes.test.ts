import { describe, expect, it } from 'vitest';
import { bytes } from '../../../clickhouse/literal.ts';
import { RowWriter } from '../../../clickhouse/rowbinary.ts';
import { Builder, type Cell, toBoc } from '../../../src/chain/builder.ts';
import { createCodeStore } from './codes.ts';

const { signal } = new AbortController();
const codeOf = (n: number): Cell => new Builder().u(n, 32).cell();

/** Table `codes` with these, and how often it was asked. */
function tableOf(codes: readonly Cell[]) {
  const asked: string[] = [];
  return {
    asked,
    async query(sql: string): Promise<Buffer> {
      asked.push(sql);
      const out = new RowWriter();
      for (const code of codes) {
        if (!sql.includes(bytes(code.hash()))) continue;
        out.fixed(code.hash(), 32);
        out.string(toBoc(code));
        out.endRow();
      }
      return Buffer.concat(out.take());
    },
  };
}

describe('codes over their table', () => {
  it('are asked for once, those that the table does not have too', async () => {
    const [there, absent] = [codeOf(1), codeOf(2)];
    const table = tableOf([there]);
    const codes = createCodeStore(table);
    for (let batch = 1; batch <= 3; batch++) {
      codes.clear();
      await codes.loadWithLibraries([there.hash(), absent.hash()], signal);
      await codes.load([absent.hash()], signal);
      expect(codes.held(there.hash())).not.toBeNull();
      expect(codes.held(absent.hash())).toBeNull();
    }
    expect(table.asked).toHaveLength(1);
  });

  it('are known from the step on that shows them, before the table has them and after', async () => {
    const code = codeOf(3);
    const table = tableOf([]);
    const codes = createCodeStore(table);
    expect(await codes.load([code.hash()], signal)).toEqual([]);
    codes.put(code.hash(), toBoc(code), 1);
    expect(codes.held(code.hash())).not.toBeNull();
    codes.written(1);
    expect(codes.held(code.hash())).not.toBeNull();
    codes.clear();
    expect(await codes.load([code.hash()], signal)).toHaveLength(1);
    expect(table.asked).toHaveLength(1);
  });
});
