/** Blocks, transactions and a head that a test makes up, for tests of what is shown rather than of what is decoded. */
import { createHash } from 'node:crypto';
import { beginCell } from '@ton/core';
import type { Head } from '../clickhouse/queries/head.ts';
import { addressOf } from '../src/chain/address.ts';
import type { BlockId, Hash, Message, Transaction } from '../src/chain/model.ts';
import type { ActionRecord, BlockRecord, TransactionRecord } from '../src/chain/records.ts';

/** 32 bytes that are the same for the same name. */
export function madeHash(name: string): Hash {
  return createHash('sha256').update(name).digest();
}

const WHOLE_SHARD = '8000000000000000';

export function madeBlock(
  place: Partial<BlockId> & { mcSeqno: number; utime?: number; txCount?: number },
): BlockRecord {
  const { workchain = -1, shard = WHOLE_SHARD, mcSeqno, utime = 1_700_000_000 + mcSeqno, txCount = 0 } = place;
  const seqno = place.seqno ?? mcSeqno;
  const hash = madeHash(`${workchain} ${shard} ${seqno}`);
  return {
    header: {
      workchain,
      shard,
      seqno,
      rootHash: hash,
      fileHash: hash,
      globalId: -3,
      version: 0,
      flags: 0,
      notMaster: workchain !== -1,
      afterMerge: false,
      beforeSplit: false,
      afterSplit: false,
      wantMerge: false,
      wantSplit: false,
      keyBlock: false,
      vertSeqnoIncr: false,
      vertSeqno: 0,
      genUtime: utime,
      startLt: '1',
      endLt: '2',
      validatorListHashShort: 0,
      catchainSeqno: 0,
      minRefMcSeqno: 0,
      prevKeyBlockSeqno: 0,
      genSoftware: null,
      masterRef: null,
      prev: [],
    },
    mcSeqno,
    createdBy: hash,
    randSeed: hash,
    txCount,
  };
}

/** The body of a plain comment, serialised. */
export function commentBody(text: string): Buffer {
  return beginCell().storeUint(0, 32).storeStringTail(text).endCell().toBoc();
}

export function madeMessage(parts: Partial<Message> = {}): Message {
  return {
    cell: 0,
    kind: 'internal',
    hash: madeHash('message'),
    source: addressOf(0, madeHash('sender')),
    destination: addressOf(0, madeHash('receiver')),
    externalBits: null,
    value: '1500000000',
    extraCurrencies: {},
    ihrDisabled: true,
    bounce: false,
    bounced: false,
    fwdFee: '0',
    ihrFeeOrFlags: '0',
    createdLt: '1',
    createdAt: 1_700_000_000,
    importFee: null,
    opcode: null,
    bodyHash: madeHash('body'),
    bodyBoc: () => beginCell().endCell().toBoc(),
    init: null,
    hashNorm: () => null,
    ...parts,
  };
}

const QUIET: Transaction['description'] = {
  type: 'ord',
  aborted: false,
  destroyed: false,
  creditFirst: false,
  isTock: null,
  installed: null,
  storage: null,
  credit: null,
  compute: null,
  action: null,
  bounce: null,
  splitInfo: null,
};

export interface MadeTransaction {
  name: string;
  mcSeqno: number;
  transaction?: Partial<Transaction>;
  description?: Partial<Transaction['description']>;
}

export function madeTransaction({ name, mcSeqno, transaction, description }: MadeTransaction): TransactionRecord {
  const hash = madeHash(name);
  return {
    transaction: {
      cell: 0,
      account: addressOf(0, madeHash(`account of ${name}`)),
      hash,
      lt: String(mcSeqno * 1_000_000),
      now: 1_700_000_000 + mcSeqno,
      prevHash: hash,
      prevLt: '0',
      origStatus: 'active',
      endStatus: 'active',
      totalFees: '2355218',
      totalFeesExtra: {},
      stateBefore: hash,
      stateAfter: hash,
      inMsg: madeMessage(),
      outMsgs: [],
      ...transaction,
      description: { ...QUIET, ...description },
    },
    block: { workchain: 0, shard: WHOLE_SHARD, seqno: mcSeqno },
    mcSeqno,
    traceId: null,
    externalHash: null,
    globalVersion: 9,
    before: null,
    after: null,
  };
}

/** A transfer that says nothing, of a trace of one transaction. */
export function madeAction(hash: Hash): ActionRecord {
  return {
    traceId: hash,
    traceEndLt: '9',
    traceEndUtime: 9,
    mcSeqno: 1,
    number: 0,
    actionId: hash,
    startLt: '1',
    endLt: '9',
    startUtime: 1,
    endUtime: 9,
    type: 'ton_transfer',
    success: true,
    ancestors: [],
    externalHash: null,
    externalHashNorm: null,
    transactions: hash,
    content: '[{},[]]',
  };
}

/** A head that goes where the test says. */
export function madeHead(start = 0, globalId: number | null = -3): Head {
  const listeners: ((from: number, to: number) => void)[] = [];
  let seqno = start;
  return {
    get seqno() {
      return seqno;
    },
    get inTables() {
      return seqno;
    },
    globalId,
    tables: '',
    belongTo: () => undefined,
    onTables: () => undefined,
    advance(to) {
      const from = seqno;
      seqno = to;
      for (const listener of listeners) listener(from, to);
    },
    reach: async () => undefined,
    onAdvance: (listener) => listeners.push(listener),
    refresh: async () => undefined,
    follow: async () => undefined,
  };
}
