/** Wallet contracts of @ton/ton with their externals written at once: signing in it takes milliseconds, here 0.1. */
import {
  type Address,
  beginCell,
  type Cell,
  external,
  internal,
  SendMode,
  type StateInit,
  storeMessage,
  storeMessageRelaxed,
} from '@ton/core';
import { WalletContractV3R2, WalletContractV4, WalletContractV5R1 } from '@ton/ton';
import { outActions } from '../../chain/layouts/messages.ts';
import { w5ExternalSignedRequest } from '../../chain/layouts/wallets.ts';
import { deriveKeys, type Keys } from './keys.ts';

export type WalletVersion = 'v3r2' | 'v4r2' | 'v5r1';
export const WALLET_VERSIONS: readonly WalletVersion[] = ['v3r2', 'v4r2', 'v5r1'];

/** Most messages that one external message of the wallet can order. */
export const MOST_MESSAGES: Record<WalletVersion, number> = { v3r2: 4, v4r2: 4, v5r1: 255 };

export interface OutMessage {
  to: Address;
  /** Nanotons. */
  value: bigint;
  bounce: boolean;
  body?: Cell;
  init?: { code: Cell; data: Cell };
  /** Send mode; fees apart and errors ignored (3) when not given. */
  mode?: number;
}

export interface Order {
  seqno: number;
  /** Unix seconds. */
  validUntil: number;
  messages: readonly OutMessage[];
  /** Of v4 alone, instead of messages: what it does with a plugin ({@link deployPlugin}, {@link removePlugin}). */
  plugin?: Cell;
  /** Carry the state-init: for the wallet's first message when it was not deployed otherwise. */
  deploy?: boolean;
}

export interface Wallet {
  version: WalletVersion;
  address: Address;
  init: { code: Cell; data: Cell };
  keys: Keys;
  /**
   * The signed external message.
   * @throws {RangeError} with more messages than the wallet takes, or a plugin that it has not
   */
  order(order: Order): Cell;
}

const CONTRACTS = { v3r2: WalletContractV3R2, v4r2: WalletContractV4, v5r1: WalletContractV5R1 } as const;

/** The wallet that `CONTRACTS[version].create({ workchain: 0, publicKey })` is, with its key. */
export function createWallet(seed: string, name: string, version: WalletVersion): Wallet {
  const keys = deriveKeys(seed, name);
  const { address, init } = CONTRACTS[version].create({ workchain: 0, publicKey: keys.publicKey });
  const id = walletId(version, init.data);
  return {
    version,
    address,
    init,
    keys,
    order(order) {
      const most = MOST_MESSAGES[version];
      if (order.plugin !== undefined && version !== 'v4r2') throw new RangeError(`a ${version} wallet has no plugins`);
      if (order.messages.length > most) throw new RangeError(`a ${version} wallet sends at most ${most} messages`);
      const body = version === 'v5r1' ? bodyV5(id, order, keys) : bodyV3V4(version, id, order, keys);
      const message = external({ to: address, body, ...(order.deploy ? { init } : {}) });
      return beginCell().store(storeMessage(message)).endCell();
    },
  };
}

/** The subwallet or wallet id: 32 bits after the seqno. */
function walletId(version: WalletVersion, data: Cell): number {
  const slice = data.beginParse();
  return slice.skip(version === 'v5r1' ? 33 : 32).loadUint(32);
}

/** A wallet's next seqno, out of its data. */
export function seqnoOf(version: WalletVersion, data: Cell): number {
  const slice = data.beginParse();
  // v5 says first whether its key may sign.
  if (version === 'v5r1') slice.skip(1);
  return slice.loadUint(32);
}

function cellOf(message: OutMessage): Cell {
  const { to, value, bounce, body, init } = message;
  const stateInit: StateInit | undefined = init;
  const relaxed = internal({ to, value, bounce, ...(body ? { body } : {}), ...(stateInit ? { init: stateInit } : {}) });
  return beginCell().store(storeMessageRelaxed(relaxed)).endCell();
}

const USUAL_MODE = SendMode.PAY_GAS_SEPARATELY | SendMode.IGNORE_ERRORS;

function bodyV3V4(version: WalletVersion, id: number, order: Order, keys: Keys): Cell {
  const signed = beginCell().storeUint(id, 32).storeUint(order.validUntil, 32).storeUint(order.seqno, 32);
  if (version === 'v4r2' && order.plugin === undefined) signed.storeUint(0, 8);
  if (order.plugin !== undefined) signed.storeSlice(order.plugin.beginParse());
  for (const message of order.messages) signed.storeUint(message.mode ?? USUAL_MODE, 8).storeRef(cellOf(message));
  return beginCell().storeBuffer(keys.sign(signed.endCell().hash())).storeBuilder(signed).endCell();
}

/** Deploys a plugin with its state-init and installs it. `value` in nanotons. */
export function deployPlugin({ value, stateInit, body }: { value: bigint; stateInit: Cell; body: Cell }): Cell {
  return beginCell().storeUint(1, 8).storeInt(0, 8).storeCoins(value).storeRef(stateInit).storeRef(body).endCell();
}

/** Removes a plugin and tells it so. `value` in nanotons. */
export function removePlugin({ address, value, queryId }: { address: Address; value: bigint; queryId: bigint }): Cell {
  return beginCell()
    .storeUint(3, 8)
    .storeInt(address.workChain, 8)
    .storeBuffer(address.hash)
    .storeCoins(value)
    .storeUint(queryId, 64)
    .endCell();
}

function bodyV5(id: number, order: Order, keys: Keys): Cell {
  // An OutList is a chain of cells, the last action outermost.
  const actions = order.messages.reduce(
    (before, message) =>
      beginCell()
        .storeRef(before)
        .storeUint(outActions.send.tag, 32)
        .storeUint(message.mode ?? USUAL_MODE, 8)
        .storeRef(cellOf(message))
        .endCell(),
    beginCell().endCell(),
  );
  const signed = beginCell()
    .storeUint(w5ExternalSignedRequest.opcode, 32)
    .storeUint(id, 32)
    .storeUint(order.validUntil, 32)
    .storeUint(order.seqno, 32)
    .storeMaybeRef(actions)
    .storeBit(false);
  return beginCell().storeBuilder(signed).storeBuffer(keys.sign(signed.endCell().hash())).endCell();
}
