import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { encodeStates, statusNumber } from '../../clickhouse/states.ts';
import type { AccountState, Address, BlockId, Decimal, Hash, Message, Transaction } from '../../src/chain/model.ts';
import type { BlockRecord, KnownState } from '../../src/chain/records.ts';
import type { OpenMessage } from './packed.ts';
import type { TraceLink } from './traces.ts';

/** One insert: a table, its columns in the order of the rows, and the rows in RowBinary. */
export interface Insert {
  table: string;
  columns: string[];
  rows: number;
  chunks: Buffer[];
  /** Hashes of the rows of table `codes`, which no step names. */
  keys: Hash[];
}

const NO_HASH = Buffer.alloc(32);
const NO_ADDRESS = Buffer.alloc(36);
/** Stands for "none" in `created_lt` and `created_at`: sorts after every real value. */
export const NO_LT = '18446744073709551615';
export const NO_TIME = 0xffff_ffff;

const COLUMNS = {
  blocks:
    'mc_seqno workchain shard seqno gen_utime start_lt end_lt tx_count global_id root_hash file_hash rand_seed created_by info',
  shard_tops: 'mc_seqno workchain shard seqno',
  transactions:
    'account lt hash mc_seqno now shard seqno trace_id external_hash in_opcode aborted total_fees global_version state_after states payload',
  messages:
    'created_lt hash hash_norm source destination created_at opcode body_hash value out_mc_seqno out_lt out_tx_hash in_mc_seqno in_lt in_tx_hash global_version payload',
  accounts: 'account lt mc_seqno hash last_transaction_hash status balance code_hash state',
  account_data: 'account lt mc_seqno data_hash boc',
  account_codes: 'account lt mc_seqno code_hash',
  codes: 'code_hash methods boc',
  balances: 'balance account lt mc_seqno sign',
  gaps: 'mc_seqno first_offset next_offset block error',
} as const;

export type Table = keyof typeof COLUMNS;

/** A state of an account by its place in the account's history. */
export type AccountPlace = Pick<AccountState, 'account' | 'lastTransactionLt'>;

/** Where a transaction stands and what is known around it. */
export interface TransactionPlace {
  block: BlockId;
  mcSeqno: number;
  globalVersion: number;
  trace: TraceLink;
  before: KnownState | null;
  after: KnownState | null;
  payload: Buffer;
}

/** The two sides of a message; a side not seen is null. */
export interface MessageSides {
  sent: OpenMessage | null;
  received: { txHash: Hash; lt: Decimal; mcSeqno: number } | null;
  globalVersion: number;
  payload: Buffer;
}

/** The eight bytes of an Int64 column for a shard of sixteen hex digits. */
export function shardBytes(shard: string): Buffer {
  return Buffer.from(shard, 'hex').reverse();
}

export type BatchRows = ReturnType<typeof createBatchRows>;

/** Collects the rows of one batch, table by table. */
export function createBatchRows() {
  const writers = new Map<Table, RowWriter>();
  const codeHashes: Hash[] = [];
  const into = (table: Table): RowWriter => {
    let writer = writers.get(table);
    if (!writer) {
      writer = new RowWriter();
      writers.set(table, writer);
    }
    return writer;
  };
  return {
    block: (record: BlockRecord, info: Buffer) => writeBlock(into('blocks'), record, info),
    shardTop: (mcSeqno: number, top: BlockId) => writeShardTop(into('shard_tops'), mcSeqno, top),
    transaction: (transaction: Transaction, place: TransactionPlace) =>
      writeTransaction(into('transactions'), transaction, place),
    message: (message: Message, sides: MessageSides) => writeMessage(into('messages'), message, sides),
    account: (state: AccountState, mcSeqno: number, packed: Buffer) =>
      writeAccount(into('accounts'), state, mcSeqno, packed),
    accountData(place: AccountPlace, mcSeqno: number, dataHash: Hash, boc: Buffer): void {
      const writer = into('account_data');
      writeKey(writer, place, mcSeqno);
      writer.fixed(dataHash);
      writer.string(boc);
      writer.endRow();
    },
    accountCode(state: AccountState, mcSeqno: number): void {
      const writer = into('account_codes');
      writeKey(writer, state, mcSeqno);
      writer.fixed(state.codeHash ?? NO_HASH);
      writer.endRow();
    },
    code(codeHash: Hash, methods: number[], boc: Buffer): void {
      const writer = into('codes');
      codeHashes.push(Buffer.from(codeHash));
      writer.fixed(codeHash);
      writer.arrayLength(methods.length);
      for (const method of methods) writer.u32(method);
      writer.string(boc);
      writer.endRow();
    },
    balance(account: Address, balance: Decimal, lt: Decimal, mcSeqno: number, sign: 1 | -1): void {
      const writer = into('balances');
      writer.u128(balance);
      writer.fixed(account);
      writer.u64(lt);
      writer.u32(mcSeqno);
      writer.i8(sign);
      writer.endRow();
    },
    gap(mcSeqno: number, firstOffset: number, nextOffset: number, block: string, error: string): void {
      const writer = into('gaps');
      writer.u32(mcSeqno);
      writer.u64(String(firstOffset));
      writer.u64(String(nextOffset));
      writer.string(block);
      writer.string(error);
      writer.endRow();
    },
    inserts(): Insert[] {
      return [...writers].map(([table, writer]) => ({
        table,
        columns: COLUMNS[table].split(' '),
        rows: writer.rows,
        chunks: writer.take(),
        keys: table === 'codes' ? codeHashes : [],
      }));
    },
  };
}

function writeBlock(writer: RowWriter, record: BlockRecord, info: Buffer): void {
  const { header } = record;
  writer.u32(record.mcSeqno);
  writer.i32(header.workchain);
  writer.fixed(shardBytes(header.shard));
  writer.u32(header.seqno);
  writer.u32(header.genUtime);
  writer.u64(header.startLt);
  writer.u64(header.endLt);
  writer.u32(record.txCount);
  writer.i32(header.globalId);
  writer.fixed(header.rootHash);
  writer.fixed(header.fileHash);
  writer.fixed(record.randSeed);
  writer.fixed(record.createdBy);
  writer.string(info);
  writer.endRow();
}

function writeShardTop(writer: RowWriter, mcSeqno: number, top: BlockId): void {
  writer.u32(mcSeqno);
  writer.i32(top.workchain);
  writer.fixed(shardBytes(top.shard));
  writer.u32(top.seqno);
  writer.endRow();
}

function writeTransaction(writer: RowWriter, transaction: Transaction, place: TransactionPlace): void {
  writer.fixed(transaction.account);
  writer.u64(transaction.lt);
  writer.fixed(transaction.hash);
  writer.u32(place.mcSeqno);
  writer.u32(transaction.now);
  writer.fixed(shardBytes(place.block.shard));
  writer.u32(place.block.seqno);
  writer.fixed(place.trace.traceId);
  writer.fixed(place.trace.externalHash ?? NO_HASH);
  writeOpcode(writer, transaction.inMsg?.opcode ?? null);
  writer.bool(transaction.description.aborted ?? false);
  writer.u128(transaction.totalFees);
  writer.u8(Math.min(place.globalVersion, 255));
  writer.fixed(place.after ? transaction.stateAfter : NO_HASH);
  writer.string(encodeStates(place.before, place.after));
  writer.string(place.payload);
  writer.endRow();
}

function writeMessage(writer: RowWriter, message: Message, sides: MessageSides): void {
  const { sent, received } = sides;
  const norm = message.hashNorm();
  writer.u64(message.createdLt ?? NO_LT);
  writer.fixed(message.hash);
  writer.fixed(norm && !norm.equals(message.hash) ? norm : NO_HASH);
  writer.fixed(message.source ?? NO_ADDRESS);
  writer.fixed(message.destination ?? NO_ADDRESS);
  writer.u32(message.createdAt ?? NO_TIME);
  writeOpcode(writer, message.opcode);
  writer.fixed(message.bodyHash);
  writer.u128(message.value ?? '0');
  writer.u32(sent?.outMcSeqno ?? 0);
  writer.u64(sent?.outLt ?? '0');
  writer.fixed(sent?.outTxHash ?? NO_HASH);
  writer.u32(received?.mcSeqno ?? 0);
  writer.u64(received?.lt ?? '0');
  writer.fixed(received?.txHash ?? NO_HASH);
  writer.u8(Math.min(sent?.globalVersion ?? sides.globalVersion, 255));
  writer.string(sides.payload);
  writer.endRow();
}

function writeAccount(writer: RowWriter, state: AccountState, mcSeqno: number, packed: Buffer): void {
  writeKey(writer, state, mcSeqno);
  writer.fixed(state.hash);
  writer.fixed(state.lastTransactionHash);
  writer.i8(statusNumber(state.status));
  writer.u128(state.balance);
  writer.fixed(state.codeHash ?? NO_HASH);
  writer.string(packed);
  writer.endRow();
}

function writeKey(writer: RowWriter, place: AccountPlace, mcSeqno: number): void {
  writer.fixed(place.account);
  writer.u64(place.lastTransactionLt);
  writer.u32(mcSeqno);
}

function writeOpcode(writer: RowWriter, opcode: number | null): void {
  writer.isNull(opcode === null);
  if (opcode !== null) writer.u32(opcode);
}
