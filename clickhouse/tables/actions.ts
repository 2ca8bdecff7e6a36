import { address, arrayOf, bool, bytes, hash, hashOrNone, text, u16, u32, u64, word } from './columns.ts';
import { type Row, table } from './table.ts';

/**
 * What complete traces did. A trace's actions are numbered in the order of their ends (`end_lt`, then `action_id`), so
 * that the key has the order of the listings. A trace whose contracts were not all known is told again in the step that
 * shows them: then each of its numbers has another row, and of those up to a step the newest counts. One without type
 * says that the new telling has none of that number.
 */
export const actions = table({
  name: 'actions',
  columns: {
    traceEndLt: u64,
    traceId: hash,
    number: u16,
    actionId: hash,
    /** Step in which it was told. */
    mcSeqno: u32,
    /** Step in which the trace ended. */
    endMcSeqno: u32,
    traceEndUtime: u32,
    startLt: u64,
    endLt: u64,
    startUtime: u32,
    endUtime: u32,
    /** As filters compare it; the printed one may differ. */
    type: word,
    success: bool,
    /** Types of the actions that it is a part of, innermost first. */
    ancestors: arrayOf(word),
    /** Of the trace. */
    externalHash: hashOrNone,
    externalHashNorm: hashOrNone,
    /** Hashes of its transactions, one behind the other. */
    transactions: bytes,
    /** JSON: the details, then the accounts that it is found by. */
    content: text,
  },
  kind: 'fact',
  key: ['traceEndLt', 'traceId', 'number', 'mcSeqno'],
  indexes: [
    { name: 'actions_by_id', key: ['actionId', 'traceEndLt', 'number', 'mcSeqno'], also: [] },
    {
      name: 'actions_by_type',
      key: ['type', 'traceEndLt', 'number', 'mcSeqno'],
      also: [],
      where: "type != ''",
      // Traces of different shards may end at the same logical time.
      shared: true,
    },
  ],
  inStatus: true,
});

export type ActionRow = Row<typeof actions>;

/**
 * Which accounts an action is found by, with what it is filtered by; without type once a later telling does not name the
 * account.
 */
export const actionAccounts = table({
  name: 'action_accounts',
  columns: {
    account: address,
    traceEndLt: u64,
    traceId: hash,
    number: u16,
    mcSeqno: u32,
    endMcSeqno: u32,
    traceEndUtime: u32,
    type: word,
    ancestors: arrayOf(word),
  },
  kind: 'fact',
  key: ['account', 'traceEndLt', 'traceId', 'number', 'mcSeqno'],
});

export type ActionAccountRow = Row<typeof actionAccounts>;

/** Which contracts a trace was told without knowing: it is told again in the step that shows what they are. */
export const actionDoubts = table({
  name: 'action_doubts',
  columns: { address, mcSeqno: u32, traceEndLt: u64, traceId: hash },
  kind: 'fact',
  key: ['address', 'traceEndLt', 'traceId', 'mcSeqno'],
  carried: false,
});
