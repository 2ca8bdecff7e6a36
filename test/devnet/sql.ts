/** SQL of a running service: as its API answers, at the head of all. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { EXAMPLES } from '../../src/api/sql/examples.ts';
import type { Stack } from '../stack.ts';

const answer = z.object({ mc_seqno: z.number(), rows: z.array(z.array(z.unknown())) });
const found = z.object({ transactions: z.array(z.object({ hash: z.string(), lt: z.string() })) });

export function describeSql(stack: () => Stack): void {
  const ask = async (body: object): Promise<z.output<typeof answer>> => {
    const response = await fetch(`${stack().url}/api/sql`, { method: 'POST', body: JSON.stringify(body) });
    const text = await response.text();
    expect([response.status, text.slice(0, 300)]).toEqual([200, expect.any(String)]);
    return answer.parse(JSON.parse(text));
  };

  it('shows the transactions of a step as the API does', async () => {
    const { mc_seqno: seqno } = await ask({ sql: 'SELECT mc_seqno FROM ton.head' });
    const response = await fetch(`${stack().url}/api/v3/transactionsByMasterchainBlock?seqno=${seqno}&limit=1000`);
    const { transactions } = found.parse(await response.json());
    const { rows } = await ask({ sql: `SELECT hash, lt FROM ton.transactions WHERE mc_block_seqno = ${seqno}` });
    expect(rows.toSorted()).toEqual(transactions.map(({ hash, lt }) => [hash, lt]).toSorted());
  });

  it('sees one step with a whole query while steps come', async () => {
    const sql =
      'SELECT (SELECT max(mc_block_seqno) FROM ton.blocks), (SELECT mc_seqno FROM ton.head), max(mc_block_seqno) FROM ton.blocks';
    for (let i = 0; i < 5; i++) {
      const { rows, mc_seqno: seqno } = await ask({ sql });
      expect(rows).toEqual([[seqno, seqno, seqno]]);
    }
  });

  it('answers what stands in the schema', async () => {
    for (const { sql, params = {} } of EXAMPLES.filter((_, at) => at % 4 === 0)) await ask({ sql, params });
  });
}
