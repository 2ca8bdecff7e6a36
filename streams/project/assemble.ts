import { LRUCache } from 'lru-cache';
import { decodeState, encodeState } from '../../clickhouse/states.ts';
import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { methodIds } from '../../src/chain/interfaces.ts';
import { completeCells, mergePruned } from '../../src/chain/merge.ts';
import type { AccountState, Address, Hash, Message, Transaction } from '../../src/chain/model.ts';
import { serialize } from '../../src/chain/serialize.ts';
import { type AccountStore, type StoredAccount, stateWithHash } from './accounts.ts';
import type { DecodedBlock, DecodedStep } from './decode.ts';
import type { BatchCounts } from './position.ts';
import { type BatchRows, createBatchRows, type Insert } from './rows.ts';
import type { SentMessages } from './sent.ts';
import { hashKey, linkTrace, type OpenMessage, type OpenMessages, startsTrace } from './traces.ts';

export interface AssemblyMetrics {
  /** An internal message arrived whose sender is not in the tables: its trace begins in the middle. */
  brokenTrace(): void;
  /** Code or data of an account that no block has shown in full yet. */
  missingCells(kind: 'code' | 'data'): void;
  /** Code or data larger than is stored. */
  oversized(kind: 'code' | 'data'): void;
}

export interface AssemblerOptions {
  accounts: AccountStore;
  openMessages: OpenMessages;
  sent: SentMessages;
  maxDataBytes: number;
  metrics: AssemblyMetrics;
}

export interface AssembledBatch {
  inserts: Insert[];
  counts: BatchCounts;
}

/** Hashes of codes that table `codes` is known to hold. */
const KNOWN_CODES = 50_000;

/**
 * Turns decoded steps into rows, in the order of the log. What depends on earlier steps (traces, states before,
 * both sides of a message) is found in memory or, once a batch, in the tables.
 */
export function createAssembler(options: AssemblerOptions) {
  const { accounts, openMessages, sent, maxDataBytes, metrics } = options;
  const knownCodes = new LRUCache<string, true>({ max: KNOWN_CODES });

  /** `batch` numbers the batch for the account store; `firstMcSeqno` is its first step. */
  async function assemble(
    steps: DecodedStep[],
    batch: number,
    firstMcSeqno: number,
    signal: AbortSignal,
  ): Promise<AssembledBatch> {
    const rows = createBatchRows();
    const counts: BatchCounts = { blocks: 0, transactions: 0, messages: 0 };
    await accounts.load(unloadedAccounts(steps), firstMcSeqno, signal);
    const earlier = await sent.find(unknownMessages(steps), firstMcSeqno, signal);
    const leaving = new Map<string, Leaving>();
    const newest = new Map<string, { state: AccountState; mcSeqno: number; packed: Buffer }>();
    const newestData = new Map<string, { state: AccountState; mcSeqno: number; boc: Buffer; dataHash: Hash }>();

    for (const step of steps) {
      for (const block of step.blocks) writeBlock(rows, block, counts);
      for (const { transaction, block, after } of inOrder(step)) {
        writeTransaction(transaction, block, after);
        if (after) await writeState(after, block);
      }
    }
    for (const { message, open, boc } of leaving.values()) writeSent(message, open, boc);
    for (const { state, mcSeqno, packed } of newest.values()) rows.account(state, mcSeqno, packed);
    for (const { state, mcSeqno, boc, dataHash } of newestData.values())
      rows.accountData(state, mcSeqno, dataHash, boc);
    return { inserts: rows.inserts(), counts };

    function writeTransaction(transaction: Transaction, block: DecodedBlock, after: AccountState | null): void {
      const { record, boc } = block;
      const globalVersion = record.header.genSoftware?.version ?? 0;
      const arrival = transaction.inMsg ? receive(transaction.inMsg) : null;
      const trace = linkTrace(transaction, arrival);
      if (arrival === null && !startsTrace(transaction.inMsg)) metrics.brokenTrace();
      rows.transaction(transaction, {
        block: record.header,
        mcSeqno: record.mcSeqno,
        globalVersion,
        trace,
        before: stateWithHash(accounts.get(transaction.account), transaction.stateBefore),
        after,
        payload: serialize(boc, transaction.cell, { crc: false }),
      });
      counts.transactions++;
      if (transaction.inMsg) {
        counts.messages++;
        const received = { txHash: transaction.hash, lt: transaction.lt, mcSeqno: record.mcSeqno };
        const payload = serialize(boc, transaction.inMsg.cell, { crc: false });
        rows.message(transaction.inMsg, { sent: arrival, received, globalVersion, payload });
      }
      for (const message of transaction.outMsgs) {
        const open: OpenMessage = {
          traceId: Buffer.from(trace.traceId),
          externalHash: trace.externalHash && Buffer.from(trace.externalHash),
          outTxHash: Buffer.from(transaction.hash),
          outLt: transaction.lt,
          outMcSeqno: record.mcSeqno,
          globalVersion,
        };
        leaving.set(hashKey(message.hash), { message, open, boc });
        counts.messages++;
      }
    }

    /** What is known of the sending side of a message that arrives. */
    function receive(message: Message): OpenMessage | null {
      if (message.kind !== 'internal') return null;
      const key = hashKey(message.hash);
      const inBatch = leaving.get(key);
      if (inBatch) {
        leaving.delete(key);
        return inBatch.open;
      }
      return openMessages.take(message.hash) ?? earlier.get(key) ?? null;
    }

    function writeSent(message: Message, open: OpenMessage, boc: Boc): void {
      const payload = serialize(boc, message.cell, { crc: false });
      rows.message(message, { sent: open, received: null, globalVersion: open.globalVersion, payload });
      if (message.kind === 'internal') openMessages.put(message.hash, open);
    }

    async function writeState(state: AccountState, block: DecodedBlock): Promise<void> {
      const { mcSeqno } = block.record;
      const key = hashKey(state.account);
      const previous = accounts.get(state.account);
      writeBalance(rows, previous, state, mcSeqno);
      writeCode(previous, state, block);
      const packed = encodeState(state);
      const data = await findData(previous, state, block.boc);
      if (data !== null && state.dataHash) {
        newestData.set(key, { state, mcSeqno, boc: data, dataHash: state.dataHash });
        accounts.putData(state.account, data, batch);
      }
      const stored: StoredAccount = {
        lt: state.lastTransactionLt,
        hash: Buffer.from(state.hash),
        state: packed,
        storedDataHash:
          data !== null && state.dataHash ? Buffer.from(state.dataHash) : (previous?.storedDataHash ?? null),
      };
      accounts.put(state.account, stored, batch);
      newest.set(key, { state, mcSeqno, packed });
    }

    function writeCode(previous: StoredAccount | null, state: AccountState, block: DecodedBlock): void {
      const before = previous ? decodeState(previous.state).codeHash : null;
      if (!sameHash(before, state.codeHash)) rows.accountCode(state, block.record.mcSeqno);
      if (state.codeHash === null || state.codeCell === null) return;
      const key = hashKey(state.codeHash);
      if (knownCodes.has(key)) return;
      const code = state.codeComplete ? completeCells(block.boc, state.codeCell) : null;
      if (code === null) {
        if (!sameHash(before, state.codeHash)) metrics.missingCells('code');
        return;
      }
      knownCodes.set(key, true);
      if (code.length > maxDataBytes) {
        metrics.oversized('code');
        return;
      }
      const boc = canonicalBoc(code);
      rows.code(state.codeHash, methodIds(boc) ?? [], boc);
    }

    /** The data in full when it is new to the tables; null when they have it or it cannot be known. */
    async function findData(previous: StoredAccount | null, state: AccountState, boc: Boc): Promise<Buffer | null> {
      if (state.dataHash === null || state.dataCell === null) return null;
      if (previous?.storedDataHash?.equals(state.dataHash)) return null;
      let data = state.dataComplete ? completeCells(boc, state.dataCell) : null;
      if (data === null && previous?.storedDataHash) {
        const older = await accounts.dataOf(state.account, signal);
        if (older) data = mergePruned(boc, state.dataCell, openBoc(older));
      }
      if (data === null) {
        metrics.missingCells('data');
        return null;
      }
      if (data.length > maxDataBytes) {
        metrics.oversized('data');
        return null;
      }
      return canonicalBoc(data);
    }
  }

  function unloadedAccounts(steps: DecodedStep[]): Address[] {
    const missing = new Map<string, Address>();
    for (const { states } of steps.flatMap((step) => step.blocks)) {
      for (const { account } of states) if (!accounts.isLoaded(account)) missing.set(hashKey(account), account);
    }
    return [...missing.values()];
  }

  /** Internal messages received in these steps and sent neither in them nor by one that is remembered. */
  function unknownMessages(steps: DecodedStep[]): Message[] {
    const transactions = steps.flatMap((step) => step.blocks.flatMap((block) => block.transactions));
    const sentHere = new Set(transactions.flatMap(({ outMsgs }) => outMsgs.map(({ hash }) => hashKey(hash))));
    return transactions.flatMap(({ inMsg }) => {
      if (inMsg?.kind !== 'internal') return [];
      return sentHere.has(hashKey(inMsg.hash)) || openMessages.has(inMsg.hash) ? [] : [inMsg];
    });
  }

  return { assemble };
}

interface Leaving {
  message: Message;
  open: OpenMessage;
  boc: Boc;
}

interface Placed {
  transaction: Transaction;
  block: DecodedBlock;
  /** The state the block shows, when this is the account's last transaction in the block. */
  after: AccountState | null;
}

/** All transactions of a step by lt, then account: a parent is before its child (spec v3 semantics 3.1). */
function inOrder(step: DecodedStep): Placed[] {
  const compareLt = (a: string, b: string) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
  return step.blocks
    .flatMap(place)
    .sort(
      (a, b) => compareLt(a.transaction.lt, b.transaction.lt) || a.transaction.account.compare(b.transaction.account),
    );
}

function place(block: DecodedBlock): Placed[] {
  const states = new Map(block.states.map((state) => [hashKey(state.account), state]));
  return block.transactions.map((transaction) => {
    const state = states.get(hashKey(transaction.account));
    return { transaction, block, after: state?.hash.equals(transaction.stateAfter) ? state : null };
  });
}

function writeBlock(rows: BatchRows, block: DecodedBlock, counts: BatchCounts): void {
  rows.block(block.record, block.info);
  for (const top of block.shardTops) rows.shardTop(block.record.mcSeqno, top);
  counts.blocks++;
}

/** Takes back the row of the former state and writes the new one. */
function writeBalance(rows: BatchRows, previous: StoredAccount | null, state: AccountState, mcSeqno: number): void {
  if (previous) rows.balance(state.account, decodeState(previous.state).balance, previous.lt, mcSeqno, -1);
  rows.balance(state.account, state.balance, state.lastTransactionLt, mcSeqno, 1);
}

function sameHash(a: Hash | null, b: Hash | null): boolean {
  return a === null || b === null ? a === b : a.equals(b);
}
