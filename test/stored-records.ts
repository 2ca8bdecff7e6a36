/** Transactions of recorded blocks as sources have them: each a bag of its own, not decoded yet. */
import { decodeStates, encodeStates } from '../clickhouse/states.ts';
import { blockTransactions } from '../src/chain/accounts.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import type { KnownState, TransactionRecord } from '../src/chain/records.ts';
import { serialize } from '../src/chain/serialize.ts';
import { storedTransaction } from '../src/chain/stored.ts';

/** Each call gives a record that nobody has looked at. */
export type StoredPage = (() => TransactionRecord)[];

/** All transactions of a block, in its order, with a made-up state before. */
export function storedRecords(block: Buffer): StoredPage {
  const boc = openBoc(block);
  const { header, ...rest } = decodeBlock(boc);
  const { workchain, shard, seqno, genSoftware } = header;
  return [...blockTransactions({ header, ...rest })].map((transaction) => {
    const payload = serialize(boc, transaction.cell);
    const states = encodeStates(stateOf(transaction.stateBefore), null);
    return () => ({
      transaction: storedTransaction(payload, workchain),
      block: { workchain, shard, seqno },
      mcSeqno: 1,
      traceId: transaction.hash,
      externalHash: null,
      globalVersion: genSoftware?.version ?? 0,
      ...decodeStates(states),
      stored: { payload, states },
    });
  });
}

function stateOf(codeHash: Buffer): KnownState {
  return { status: 'active', balance: '1234567890', extraCurrencies: {}, frozenHash: null, codeHash, dataHash: null };
}
