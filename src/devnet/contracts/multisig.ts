/** The devnet's multisig and its orders: what they are made with, messages, and what their data holds. */
import {
  type Address,
  beginCell,
  type Cell,
  comment,
  contractAddress,
  Dictionary,
  type MessageRelaxed,
  storeMessageRelaxed,
} from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const MULTISIG_OPS = {
  newOrder: 0xf718510f,
  approve: 0xa762230f,
  sendMessage: 0xf1381e5b,
  updateParams: 0x1d0cfbd3,
  cleanup: 0x66000201,
} as const;

export const multisigCode: Cell = codeCell(CODES.multisig);
export const multisigOrderCode: Cell = codeCell(CODES.multisigOrder);

function addressMap(addresses: readonly Address[]): Dictionary<number, Address> {
  const map = Dictionary.empty(Dictionary.Keys.Uint(8), Dictionary.Values.Address());
  addresses.forEach((address, index) => void map.set(index, address));
  return map;
}

/** A dictionary that is not empty, as its root. */
function bare(addresses: readonly Address[]): Cell {
  return beginCell().storeDictDirect(addressMap(addresses)).endCell();
}

export interface MultisigTerms {
  /** Approvals that an order needs. */
  threshold: number;
  signers: readonly Address[];
  /** May make orders and approve none. */
  proposers: readonly Address[];
}

/** Data of a multisig without orders, each of which gets the next number. */
export function multisigData({ threshold, signers, proposers }: MultisigTerms): Cell {
  return beginCell()
    .storeUint(0, 256)
    .storeUint(threshold, 8)
    .storeRef(bare(signers))
    .storeUint(signers.length, 8)
    .storeDict(addressMap(proposers))
    .storeBit(false)
    .storeRef(multisigOrderCode)
    .endCell();
}

export function multisigAddress(terms: MultisigTerms): Address {
  return contractAddress(0, { code: multisigCode, data: multisigData(terms) });
}

/** The number that the next order gets. */
export function readNextOrder(data: Cell): bigint {
  return data.beginParse().loadUintBig(256);
}

/** The same as the multisig's get_order_address. */
export function multisigOrderAddress(multisig: Address, seqno: bigint): Address {
  const data = beginCell().storeAddress(multisig).storeUint(seqno, 256).endCell();
  return contractAddress(0, { code: multisigOrderCode, data });
}

export interface OrderState {
  executed: boolean;
  signers: Address[];
  /** A bit for each signer that has approved. */
  approvals: bigint;
  /** Unix seconds. */
  expiresAt: number;
}

/** Null for an order that its multisig has not made yet. */
export function readMultisigOrder(data: Cell): OrderState | null {
  if (data.refs.length === 0) return null;
  const slice = data.beginParse();
  slice.loadAddress();
  slice.skip(256 + 8);
  const executed = slice.loadBit();
  const signers = slice.loadRef().beginParse();
  const map = signers.loadDictDirect(Dictionary.Keys.Uint(8), Dictionary.Values.Address());
  const approvals = slice.loadUintBig(256);
  return { executed, signers: map.values(), approvals, expiresAt: slice.skip(8).loadUint(48) };
}

export type OrderAction = { mode: number; message: MessageRelaxed } | MultisigTerms;

function actionCell(action: OrderAction): Cell {
  if ('message' in action) {
    const message = beginCell().store(storeMessageRelaxed(action.message));
    return beginCell().storeUint(MULTISIG_OPS.sendMessage, 32).storeUint(action.mode, 8).storeRef(message).endCell();
  }
  const { threshold, signers, proposers } = action;
  return beginCell()
    .storeUint(MULTISIG_OPS.updateParams, 32)
    .storeUint(threshold, 8)
    .storeRef(bare(signers))
    .storeDict(addressMap(proposers))
    .endCell();
}

export interface NewOrder {
  queryId: bigint;
  seqno: bigint;
  /** By a signer, who approves with it, or by a proposer. */
  signer: boolean;
  /** Of the signer or proposer. */
  index: number;
  /** Unix seconds. */
  expiresAt: number;
  actions: readonly OrderAction[];
}

/** To be sent to the multisig. */
export function newOrder({ queryId, seqno, signer, index, expiresAt, actions }: NewOrder): Cell {
  const order = Dictionary.empty(Dictionary.Keys.Uint(8), Dictionary.Values.Cell());
  actions.forEach((action, at) => void order.set(at, actionCell(action)));
  return beginCell()
    .storeUint(MULTISIG_OPS.newOrder, 32)
    .storeUint(queryId, 64)
    .storeUint(seqno, 256)
    .storeBit(signer)
    .storeUint(index, 8)
    .storeUint(expiresAt, 48)
    .storeRef(beginCell().storeDictDirect(order))
    .endCell();
}

/** To be sent to an order by the signer of that index. */
export function approveOrder(queryId: bigint, index: number): Cell {
  return beginCell().storeUint(MULTISIG_OPS.approve, 32).storeUint(queryId, 64).storeUint(index, 8).endCell();
}

/** The same in words, as wallets without a form for it send it. */
export function approvalInWords(): Cell {
  return comment('approve');
}

/** To be sent to an order that is executed or out of date, by the signer of that index, who gets what is left. */
export function cleanUpOrder(queryId: bigint, index: number): Cell {
  return beginCell().storeUint(MULTISIG_OPS.cleanup, 32).storeUint(queryId, 64).storeUint(index, 8).endCell();
}
