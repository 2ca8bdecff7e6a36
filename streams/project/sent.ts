import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list, u64 } from '../../clickhouse/literal.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import type { Message } from '../../src/chain/model.ts';
import { hashKey, type OpenMessage } from './traces.ts';

export interface SentMessages {
  /** What the tables hold of the sending side of these messages, from steps before `firstMcSeqno`. */
  find(messages: Message[], firstMcSeqno: number, signal: AbortSignal): Promise<Map<string, OpenMessage>>;
}

const KEYS_PER_QUERY = 2_000;
const NO_HASH = Buffer.alloc(32);

/** Finds messages on their way that memory no longer holds, above all after a restart. */
export function createSentMessages(clickhouse: ClickHouse): SentMessages {
  async function findSome(messages: Message[], firstMcSeqno: number, signal: AbortSignal) {
    const keys = list(messages.map((message) => `(${u64(message.createdLt ?? '0')}, ${bytes(message.hash)})`));
    const found = await clickhouse.query(
      `SELECT m.hash, m.out_lt, m.out_mc_seqno, m.out_tx_hash, m.global_version, t.trace_id, t.external_hash
       FROM (
         SELECT hash, source, out_lt, out_mc_seqno, out_tx_hash, global_version FROM messages
         WHERE (created_lt, hash) IN ${keys} AND out_mc_seqno > 0 AND out_mc_seqno < ${firstMcSeqno}
         LIMIT 1 BY hash
       ) AS m
       INNER JOIN (
         SELECT account, lt, trace_id, external_hash FROM transactions
         WHERE (account, lt) IN (SELECT source, out_lt FROM messages WHERE (created_lt, hash) IN ${keys} AND out_mc_seqno > 0)
       ) AS t ON t.account = m.source AND t.lt = m.out_lt`,
      { label: 'reading messages sent before', signal, timeoutMs: 60_000 },
    );
    return new RowReader(found);
  }

  return {
    async find(messages, firstMcSeqno, signal) {
      const result = new Map<string, OpenMessage>();
      for (let i = 0; i < messages.length; i += KEYS_PER_QUERY) {
        const rows = await findSome(messages.slice(i, i + KEYS_PER_QUERY), firstMcSeqno, signal);
        while (!rows.done) {
          const hash = rows.fixed(32);
          const outLt = rows.u64();
          const outMcSeqno = rows.u32();
          const outTxHash = rows.fixed(32);
          const globalVersion = rows.u8();
          const traceId = rows.fixed(32);
          const external = rows.fixed(32);
          const externalHash = external.equals(NO_HASH) ? null : external;
          result.set(hashKey(hash), { traceId, externalHash, outTxHash, outLt, outMcSeqno, globalVersion });
        }
      }
      return result;
    },
  };
}
