import { Builder, type Cell, Slice } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import type { Hash } from '../chain/model.ts';
import { readCoins } from './augmentations.ts';

export interface AccountAddress {
  workchain: number;
  hash: Hash;
}

/** What routing and fees need of an internal message. */
export interface InternalMessage {
  kind: 'internal';
  cell: Cell;
  source: AccountAddress;
  destination: AccountAddress;
  value: bigint;
  fwdFee: bigint;
  createdLt: bigint;
}

export interface ExternalIn {
  kind: 'external_in';
  cell: Cell;
  destination: AccountAddress;
}

export interface ExternalOut {
  kind: 'external_out';
  cell: Cell;
}

/** Reads the `CommonMsgInfo` of a message. Throws DecodeError, also for addresses that are not `addr_std`. */
export function readMessage(cell: Cell): InternalMessage | ExternalIn | ExternalOut {
  const slice = new Slice(cell);
  if (!slice.bit()) return readInternal(cell, slice);
  if (slice.bit()) return { kind: 'external_out', cell };
  skipExternalAddress(slice);
  const destination = readAddress(slice);
  slice.grams();
  return { kind: 'external_in', cell, destination };
}

/** `int_msg_info$0`; the slot of `ihr_fee` holds `extra_flags` from global version 12 on and carries no value. */
function readInternal(cell: Cell, slice: Slice): InternalMessage {
  slice.skip(3);
  const source = readAddress(slice);
  const destination = readAddress(slice);
  const value = readCoins(slice);
  slice.grams();
  return { kind: 'internal', cell, source, destination, value, fwdFee: slice.grams(), createdLt: slice.big(64) };
}

/** `addr_std$10 anycast:(Maybe Anycast) workchain_id:int8 address:bits256`. */
function readAddress(slice: Slice): AccountAddress {
  slice.tag(2, 2, 'addr_std');
  if (slice.bit()) throw new DecodeError('anycast address');
  return { workchain: slice.i(8), hash: slice.bytes(32) };
}

/** `addr_none$00` or `addr_extern$01 len:(## 9) external_address:(bits len)`. */
function skipExternalAddress(slice: Slice): void {
  const tag = slice.u(2);
  if (tag === 0) return;
  if (tag !== 1) throw new DecodeError('internal source of an external message');
  slice.skip(slice.u(9));
}

/** A message on its way: `msg_envelope#4 cur_addr next_addr fwd_fee_remaining:Grams msg:^(Message Any)`. */
export interface Envelope {
  cell: Cell;
  message: InternalMessage;
  /** Bits of the destination's prefix (of 96) that the message has reached. */
  current: number;
}

/** @param current bits of the destination's prefix already reached; @param next bits reached with the next hop (of 96) */
export function writeEnvelope(message: InternalMessage, current: number, next: number): Envelope {
  const cell = new Builder().u(4, 4).u(current, 8).u(next, 8).grams(message.fwdFee).ref(message.cell).cell();
  return { cell, message, current };
}

/** Throws DecodeError. */
export function readEnvelope(cell: Cell): Envelope {
  const slice = new Slice(cell).tag(4, 4, 'MsgEnvelope').tag(1, 0, 'interm_addr_regular');
  const current = slice.u(7);
  slice.skip(8);
  slice.grams();
  const message = readMessage(slice.ref());
  if (message.kind !== 'internal') throw new DecodeError('external message in an envelope');
  return { cell, message, current };
}

/** What an internal message carries through queues: its value and the forwarding fee not yet earned. */
export function carriedValue(message: InternalMessage): bigint {
  return message.value + message.fwdFee;
}

/** The constructors of `InMsg` used here. */
export const inMsg = {
  /** `msg_import_ext$000 msg:^(Message Any) transaction:^Transaction`. */
  external: (message: Cell, transaction: Cell): Cell => new Builder().u(0, 3).ref(message).ref(transaction).cell(),
  /** `msg_import_imm$011 in_msg:^MsgEnvelope transaction:^Transaction fwd_fee:Grams`: created in this block. */
  immediate: (envelope: Envelope, transaction: Cell): Cell => imported(3, envelope, transaction),
  /** `msg_import_fin$100`, the same fields: taken from a queue. */
  final: (envelope: Envelope, transaction: Cell): Cell => imported(4, envelope, transaction),
};

function imported(tag: number, envelope: Envelope, transaction: Cell): Cell {
  return new Builder().u(tag, 3).ref(envelope.cell).ref(transaction).grams(envelope.message.fwdFee).cell();
}

/** The constructors of `OutMsg` used here. */
export const outMsg = {
  /** `msg_export_ext$000 msg:^(Message Any) transaction:^Transaction`. */
  external: (message: Cell, transaction: Cell): Cell => new Builder().u(0, 3).ref(message).ref(transaction).cell(),
  /** `msg_export_imm$010 out_msg:^MsgEnvelope transaction:^Transaction reimport:^InMsg`. */
  immediate: (envelope: Envelope, transaction: Cell, reimport: Cell): Cell =>
    new Builder().u(2, 3).ref(envelope.cell).ref(transaction).ref(reimport).cell(),
  /** `msg_export_new$001 out_msg:^MsgEnvelope transaction:^Transaction`: goes into the queue. */
  queued: (envelope: Envelope, transaction: Cell): Cell =>
    new Builder().u(1, 3).ref(envelope.cell).ref(transaction).cell(),
  /** `msg_export_deq_imm$100 out_msg:^MsgEnvelope reimport:^InMsg`: from this shard's own queue. */
  dequeuedHere: (envelope: Envelope, reimport: Cell): Cell =>
    new Builder().u(4, 3).ref(envelope.cell).ref(reimport).cell(),
  /** `msg_export_deq_short$1101 msg_env_hash next_workchain:int32 next_addr_pfx:uint64 import_block_lt:uint64`. */
  delivered: (envelope: Envelope, nextHop: Buffer, importLt: bigint): Cell =>
    new Builder().u(13, 4).bytes(envelope.cell.hash()).bytes(nextHop).big(importLt, 64).cell(),
};
