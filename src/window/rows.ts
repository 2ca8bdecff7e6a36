/** Rows of the window as the things they are. */
import { storedRecord } from '../../clickhouse/queries/transactions.ts';
import { decodeState } from '../../clickhouse/states.ts';
import { workchainOf } from '../chain/address.ts';
import { openBoc } from '../chain/boc.ts';
import { decodeBlockInfo } from '../chain/header.ts';
import type { Decimal, Hash } from '../chain/model.ts';
import type { BlockRecord, KnownState, TransactionRecord } from '../chain/records.ts';
import { stepOf } from './chunk.ts';
import { columnOf, restOf, type Values } from './kind.ts';
import { accountKind, blockKind, messageKind, transactionKind } from './kinds.ts';

export function transactionOf(id: Buffer, row: Buffer): TransactionRecord {
  const { columns } = transactionKind;
  const get = <K extends keyof typeof columns>(column: K) => columnOf(transactionKind, row, column);
  const place = {
    workchain: workchainOf(row),
    shard: get('shard'),
    seqno: get('seqno'),
    mcSeqno: stepOf(id),
    traceId: get('traceId'),
    externalHash: get('externalHash'),
    globalVersion: get('globalVersion'),
    hash: get('hash'),
  };
  const rest = restOf(transactionKind, row);
  const statesEnd = get('statesBytes');
  return storedRecord(place, rest.subarray(0, statesEnd), rest.subarray(statesEnd));
}

export function blockOf(id: Buffer, row: Buffer): BlockRecord {
  const { columns } = blockKind;
  const get = <K extends keyof typeof columns>(column: K) => columnOf(blockKind, row, column);
  const info = openBoc(restOf(blockKind, row));
  const header = decodeBlockInfo(info, info.roots[0], get('globalId'));
  return {
    header: { ...header, rootHash: get('rootHash'), fileHash: get('fileHash') },
    mcSeqno: stepOf(id),
    randSeed: get('randSeed'),
    createdBy: get('createdBy'),
    txCount: get('txCount'),
  };
}

/** A state without code and data. */
export interface StateRow {
  lt: Decimal;
  hash: Hash;
  lastTransactionHash: Hash;
  state: KnownState;
}

export function stateOf(row: Buffer): StateRow {
  return {
    lt: columnOf(accountKind, row, 'lt'),
    hash: columnOf(accountKind, row, 'hash'),
    lastTransactionHash: columnOf(accountKind, row, 'lastTransactionHash'),
    state: decodeState(restOf(accountKind, row)),
  };
}

type MessageColumns = Values<(typeof messageKind)['columns']>;

/** A message of the window: of its columns those are decoded that are asked for. */
export class MessageRow implements MessageColumns {
  readonly id: Buffer;
  readonly row: Buffer;

  constructor(id: Buffer, row: Buffer) {
    this.id = id;
    this.row = row;
  }

  get createdLt() {
    return columnOf(messageKind, this.row, 'createdLt');
  }
  get createdAt() {
    return columnOf(messageKind, this.row, 'createdAt');
  }
  get hash() {
    return columnOf(messageKind, this.row, 'hash');
  }
  get hashNorm() {
    return columnOf(messageKind, this.row, 'hashNorm');
  }
  get source() {
    return columnOf(messageKind, this.row, 'source');
  }
  get destination() {
    return columnOf(messageKind, this.row, 'destination');
  }
  get bodyHash() {
    return columnOf(messageKind, this.row, 'bodyHash');
  }
  get opcode() {
    return columnOf(messageKind, this.row, 'opcode');
  }
  get outMcSeqno() {
    return columnOf(messageKind, this.row, 'outMcSeqno');
  }
  get outLt() {
    return columnOf(messageKind, this.row, 'outLt');
  }
  get outTxHash() {
    return columnOf(messageKind, this.row, 'outTxHash');
  }
  get inMcSeqno() {
    return columnOf(messageKind, this.row, 'inMcSeqno');
  }
  get inLt() {
    return columnOf(messageKind, this.row, 'inLt');
  }
  get inTxHash() {
    return columnOf(messageKind, this.row, 'inTxHash');
  }
  get globalVersion() {
    return columnOf(messageKind, this.row, 'globalVersion');
  }
  get shownVersion() {
    return columnOf(messageKind, this.row, 'shownVersion');
  }
  get index() {
    return columnOf(messageKind, this.row, 'index');
  }
  get shownBy() {
    return columnOf(messageKind, this.row, 'shownBy');
  }
  /** Of the transaction that shows it. */
  get transaction(): Buffer {
    return Buffer.concat([this.id.subarray(0, 4), this.shownBy]);
  }
}
