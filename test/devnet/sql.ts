/** SQL of a running service: as its API answers, at the head of all. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { EXAMPLES } from '../../src/api/sql/examples.ts';
import { random } from '../chance.ts';
import { compareWithSql } from '../sql/agreement.ts';
import { type Stack, until } from '../stack.ts';

const answer = z.object({ mc_seqno: z.number(), rows: z.array(z.array(z.unknown())) });

export function describeSql(stack: () => Stack): void {
  const ask = async (body: object): Promise<z.output<typeof answer>> => {
    const { url, program } = stack();
    const response = await fetch(`${url}/api/sql`, { method: 'POST', body: JSON.stringify(body) });
    const text = await response.text();
    // Of what its log says of it CI shows nothing else.
    expect(response.status, `${text.slice(0, 300)}\n${program.output()}`).toBe(200);
    return answer.parse(JSON.parse(text));
  };

  it('shows blocks, transactions and messages of steps and accounts as the API does', async () => {
    const { mc_seqno: head, rows } = await until('accounts with transactions', async () => {
      const answer = await ask({
        sql: 'SELECT account FROM ton.transactions WHERE mc_block_seqno > 2 GROUP BY account ORDER BY count() DESC LIMIT 20',
      });
      return answer.rows.length > 1 ? answer : null;
    });
    const { url } = stack();
    const some = [head, 1 + random(head - 1), 1 + random(head - 1)].map((seqno) => ({ from: seqno, to: seqno }));
    const accounts = [rows[0], rows[random(rows.length)]].map(([account]) => ({ account: String(account) }));
    let transactions = 0;
    for (const of of [...some, ...accounts]) {
      const { differences, ...counts } = await compareWithSql({ url, key: 'agreement', of, head });
      expect(differences).toEqual([]);
      transactions += counts.transactions;
    }
    expect(transactions).toBeGreaterThan(0);
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
