import type { ClickHouse } from '../../clickhouse/client.ts';
import { bytes, list, u64 } from '../../clickhouse/literal.ts';
import { LARGE_KEYS_PER_QUERY, lotsOf } from '../../clickhouse/lots.ts';
import { RowReader } from '../../clickhouse/rowbinary.ts';
import { hashOrNone, NO_LT } from '../../clickhouse/tables/columns.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Address, Decimal, Hash, Message } from '../../src/chain/model.ts';
import type { OpenMessage } from './packed.ts';
import { READ_TIMEOUT_MS } from './patience.ts';
import type { OpenMessages } from './traces.ts';

export interface Senders {
  /** What the tables hold of the sending side of these messages, from steps before `firstMcSeqno`. */
  find(messages: Message[], firstMcSeqno: number, signal: AbortSignal): Promise<Map<string, OpenMessage>>;
}

/**
 * Finds messages on their way that memory does not hold, above all after a restart.
 *
 * Not asked for is what the tables cannot have: memory takes in every message that is sent from the start of this
 * projector on, so one that was created later than all that the tables had by then, and later than all that memory
 * has dropped, comes from no step at all. Each masterchain block brings such messages, made by the system itself.
 */
export function createSenders(clickhouse: ClickHouse, memory: Pick<OpenMessages, 'droppedLt'>): Senders {
  let storedLt: Decimal | null = null;

  /** The greatest `created_lt` in the tables as this projector found them, or a later one; 0 for empty tables. */
  async function readStoredLt(signal: AbortSignal): Promise<Decimal> {
    const found = await clickhouse.query(
      `SELECT created_lt FROM messages WHERE created_lt < ${u64(NO_LT)} ORDER BY created_lt DESC LIMIT 1`,
      { label: 'reading the newest message sent before', signal, timeoutMs: READ_TIMEOUT_MS },
    );
    const rows = new RowReader(found);
    return rows.done ? '0' : rows.u64();
  }

  /** The messages that the tables have with their sender, by a key of the sender's transaction. */
  async function readSent(messages: Message[], firstMcSeqno: number, signal: AbortSignal): Promise<SentRow[]> {
    const keys = list(messages.map((message) => `(${u64(message.createdLt ?? '0')}, ${bytes(message.hash)})`));
    const found = await clickhouse.query(
      `SELECT hash, source, ${SENDER_COLUMNS} FROM messages
       WHERE (created_lt, hash) IN ${keys} AND out_mc_seqno > 0 AND out_mc_seqno < ${firstMcSeqno}
       LIMIT 1 BY hash`,
      { label: 'reading messages sent before', signal, timeoutMs: READ_TIMEOUT_MS },
    );
    const rows = new RowReader(found);
    const sent: SentRow[] = [];
    while (!rows.done) sent.push({ hash: rows.fixed(32), source: rows.fixed(36), sender: readSender(rows) });
    return sent;
  }

  /** Traces of the transactions that sent them. The steps spare the parts of the table from other times. */
  async function readTraces(sent: SentRow[], signal: AbortSignal): Promise<Map<string, Trace>> {
    const keys = new Set(sent.map(({ source, sender }) => `(${bytes(source)}, ${u64(sender.outLt)})`));
    const steps = sent.map(({ sender }) => sender.outMcSeqno).sort((a, b) => a - b);
    const found = await clickhouse.query(
      `SELECT account, lt, ${TRACE_COLUMNS} FROM transactions
       WHERE (account, lt) IN ${list([...keys])} AND mc_seqno BETWEEN ${steps[0]} AND ${steps[steps.length - 1]}`,
      { label: 'reading traces of messages sent before', signal, timeoutMs: READ_TIMEOUT_MS },
    );
    const rows = new RowReader(found);
    const traces = new Map<string, Trace>();
    while (!rows.done) traces.set(transactionKey(rows.fixed(36), rows.u64()), readTrace(rows));
    return traces;
  }

  return {
    async find(messages, firstMcSeqno, signal) {
      const result = new Map<string, OpenMessage>();
      storedLt ??= await readStoredLt(signal);
      const before = compareDecimal(storedLt, memory.droppedLt) > 0 ? storedLt : memory.droppedLt;
      const asked = messages.filter(({ createdLt }) => createdLt === null || compareDecimal(createdLt, before) <= 0);
      for (const some of lotsOf(asked, LARGE_KEYS_PER_QUERY)) {
        const sent = await readSent(some, firstMcSeqno, signal);
        if (sent.length === 0) continue;
        const traces = await readTraces(sent, signal);
        for (const { hash, source, sender } of sent) {
          const trace = traces.get(transactionKey(source, sender.outLt));
          if (trace) result.set(hashKey(hash), { ...trace, ...sender });
        }
      }
      return result;
    },
  };
}

interface SentRow {
  hash: Hash;
  source: Address;
  sender: Sender;
}

/** The sending side of a message. */
type Sender = Pick<OpenMessage, 'outTxHash' | 'outLt' | 'outMcSeqno' | 'globalVersion'>;

/** Columns of `messages` that `readSender` reads, in this order. */
const SENDER_COLUMNS = 'out_tx_hash, out_lt, out_mc_seqno, global_version';

function readSender(rows: RowReader): Sender {
  return { outTxHash: rows.fixed(32), outLt: rows.u64(), outMcSeqno: rows.u32(), globalVersion: rows.u8() };
}

/** Where a transaction belongs. */
type Trace = Pick<OpenMessage, 'traceId' | 'externalHash'>;

/** Columns of `transactions` that `readTrace` reads, in this order. */
const TRACE_COLUMNS = 'trace_id, external_hash';

function readTrace(rows: RowReader): Trace {
  return { traceId: rows.fixed(32), externalHash: hashOrNone.read(rows) };
}

const transactionKey = (account: Address, lt: Decimal): string => `${hashKey(account)}${lt}`;
