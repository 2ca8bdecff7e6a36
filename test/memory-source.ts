/** Answers about blocks from memory, as the tables would: for tests that need a chain and no database. */
import { decodeStates, encodeStates } from '../clickhouse/states.ts';
import { accountStatesAfter, blockTransactions } from '../src/chain/accounts.ts';
import { rawAddress } from '../src/chain/address.ts';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import type { ChainSource } from '../src/chain/chain-source.ts';
import { compareDecimal } from '../src/chain/decimal.ts';
import { completeCells } from '../src/chain/merge.ts';
import type { AccountState, Decimal, Hash } from '../src/chain/model.ts';
import type { AccountRecord, BlockRecord, Bounds, TransactionRecord } from '../src/chain/records.ts';
import { serialize } from '../src/chain/serialize.ts';
import { createFakeSource } from './fake-source.ts';

const within = (value: Decimal, { start, end }: Bounds<Decimal>): boolean =>
  (start === undefined || compareDecimal(value, start) >= 0) && (end === undefined || compareDecimal(value, end) <= 0);

/** A block of a masterchain step. */
export interface MemoryBlock {
  bytes: Buffer;
  mcSeqno: number;
}

/** What of a block can be asked for. */
interface Opened extends BlockRecord {
  tops: { workchain: number; shard: string; seqno: number }[];
  records: TransactionRecord[];
  states: AccountRecord[];
}

function opened({ bytes, mcSeqno }: MemoryBlock): Opened {
  const boc = openBoc(bytes);
  const block = decodeBlock(boc);
  const { header, createdBy, randSeed } = block;
  const after = new Map(accountStatesAfter(block).map((state) => [state.lastTransactionHash.toString('hex'), state]));
  const { workchain, shard, seqno, genSoftware } = header;
  const records = [...blockTransactions(block)].map((transaction): TransactionRecord => {
    const state = after.get(transaction.hash.toString('hex')) ?? null;
    const states = encodeStates(null, state);
    return {
      transaction,
      block: { workchain, shard, seqno },
      mcSeqno,
      traceId: null,
      externalHash: null,
      globalVersion: genSoftware?.version ?? 0,
      ...decodeStates(states),
      stored: { payload: serialize(boc, transaction.cell), states },
    };
  });
  const whole = (cell: number | null): Buffer | null => (cell === null ? null : completeCells(boc, cell));
  const states = [...after.values()].map((state: AccountState): AccountRecord => {
    const { account, codeCell, dataCell, lastTransactionHash, lastTransactionLt, hash } = state;
    const { status, balance, extraCurrencies, frozenHash, codeHash, dataHash } = state;
    const known = { status, balance, extraCurrencies, frozenHash, codeHash, dataHash };
    const cells = { codeBoc: whole(codeCell), dataBoc: whole(dataCell), methods: null };
    return { account, ...known, hash, lastTransactionHash, lastTransactionLt, ...cells };
  });
  return { header, createdBy, randSeed, mcSeqno, txCount: records.length, tops: block.shardHashes(), records, states };
}

export interface MemoryChain {
  source: ChainSource;
  readonly blocks: readonly BlockRecord[];
  readonly transactions: readonly TransactionRecord[];
  /** Adds blocks of newer steps; they are shown at once. */
  add(blocks: readonly MemoryBlock[]): void;
}

/** Shows no code or data but what a single block shows in full. */
export function createMemoryChain(first: readonly MemoryBlock[] = []): MemoryChain {
  const blocks: Opened[] = [];
  const transactions: TransactionRecord[] = [];
  const codes = new Map<string, Buffer>();
  const add = (more: readonly MemoryBlock[]): void => {
    for (const block of more.map(opened)) {
      blocks.push(block);
      transactions.push(...block.records);
      for (const { codeHash, codeBoc } of block.states) if (codeHash && codeBoc) codes.set(hex(codeHash), codeBoc);
    }
  };
  add(first);
  const newestFirst = () => [...transactions].sort((a, b) => compareDecimal(b.transaction.lt, a.transaction.lt));
  const masters = () => blocks.filter(({ header }) => header.workchain === -1);

  const answers: Partial<ChainSource> = {
    async masterchainInfo() {
      const chain = masters().sort((a, b) => a.header.seqno - b.header.seqno);
      const last = chain.at(-1);
      return last === undefined ? null : { first: chain[0], last };
    },
    async hasMasterchainBlock(seqno) {
      return masters().some(({ header }) => header.seqno === seqno);
    },
    async blocks({ workchain, shard, seqno, utime, lt, sort, page }) {
      const rows = blocks.filter(({ header }) => {
        const place = [
          [workchain, header.workchain],
          [shard, header.shard],
          [seqno, header.seqno],
        ];
        const there = place.every(([asked, has]) => asked === undefined || asked === has);
        return there && within(header.startLt, lt) && header.genUtime >= (utime.start ?? 0);
      });
      rows.sort(
        (a, b) =>
          (a.header.genUtime - b.header.genUtime || a.header.seqno - b.header.seqno) * (sort === 'asc' ? 1 : -1),
      );
      return { rows: rows.slice(0, page.limit), nextCursor: null };
    },
    async shardState(mcSeqno) {
      const master = masters().find((block) => block.mcSeqno === mcSeqno);
      if (master === undefined) return [];
      const tops = master.tops.flatMap(({ workchain, shard, seqno }) =>
        blocks.filter(
          ({ header }) => header.workchain === workchain && header.shard === shard && header.seqno === seqno,
        ),
      );
      return [master, ...tops];
    },
    async transactions({ accounts, hashes, workchain, shard, seqno, ltWindow, page }) {
      const rows = newestFirst().filter(({ transaction, block }) => {
        if (accounts.length > 0 && !accounts.some((account) => account.equals(transaction.account))) return false;
        if (hashes.length > 0 && !hashes.some((hash) => hash.equals(transaction.hash))) return false;
        const inBlock = block.workchain === workchain && block.shard === shard && block.seqno === seqno;
        return within(transaction.lt, ltWindow) && (seqno === undefined || inBlock);
      });
      return { rows: rows.slice(0, page.limit), nextCursor: null };
    },
    async messages({ source: from, destination, ltWindow }) {
      const found = transactions.flatMap(({ transaction: { outMsgs, hash } }) =>
        outMsgs
          .filter(
            (out) =>
              from?.equals(out.source ?? Buffer.alloc(0)) && destination?.equals(out.destination ?? Buffer.alloc(0)),
          )
          .filter((out) => out.createdLt !== null && within(out.createdLt, ltWindow))
          .map((message) => {
            const receiver = transactions.find(({ transaction }) => transaction.inMsg?.hash.equals(message.hash));
            return { message, globalVersion: 0, inTxHash: receiver?.transaction.hash ?? null, outTxHash: hash };
          }),
      );
      return { rows: found, nextCursor: null };
    },
    async accountStates(accounts, codeHashes, includeBoc) {
      const newest = new Map<string, AccountRecord>();
      for (const state of blocks.flatMap(({ states }) => states)) newest.set(rawAddress(state.account), state);
      return accounts.flatMap((account) => {
        const state = newest.get(rawAddress(account));
        if (state === undefined) return [];
        const { codeHash } = state;
        if (codeHashes.length > 0 && !codeHashes.some((hash) => codeHash?.equals(hash))) return [];
        const codeBoc = codeHash === null ? null : (codes.get(hex(codeHash)) ?? null);
        return [includeBoc ? { ...state, codeBoc } : { ...state, codeBoc: null, dataBoc: null }];
      });
    },
  };
  return { source: createFakeSource(answers).source, blocks, transactions, add };
}

function hex(hash: Hash): string {
  return hash.toString('hex');
}
