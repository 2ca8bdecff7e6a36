import type { ClickHouse } from './client.ts';
import { u32 } from './literal.ts';
import { RowReader } from './rowbinary.ts';

const TIMEOUT_MS = 60_000;

/**
 * Root hash of a masterchain block as the tables have it, hex; null where they have none. What is kept beside them is of
 * their chain where its newest block has the same: the id of tables that are brought back as files is that of before,
 * and a devnet that is brought back goes on with other blocks than those it had made since.
 */
export async function masterHash(
  clickhouse: Pick<ClickHouse, 'query'>,
  mcSeqno: number,
  signal: AbortSignal,
): Promise<string | null> {
  const sql = `SELECT root_hash FROM blocks WHERE mc_seqno = ${u32(mcSeqno)} AND workchain = -1 LIMIT 1`;
  const answer = await clickhouse.query(sql, { label: 'hash of a step', signal, timeoutMs: TIMEOUT_MS });
  const rows = new RowReader(answer);
  return rows.done ? null : rows.fixed(32).toString('hex');
}
