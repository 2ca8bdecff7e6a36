import { createHash } from 'node:crypto';
import {
  type Address,
  beginCell,
  type Cell as CoreCell,
  external,
  internal,
  type MessageRelaxed,
  SendMode,
  storeMessage,
} from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV3R2, WalletContractV4, WalletContractV5R1 } from '@ton/ton';
import { parseBoc } from '../src/chain/builder.ts';
import type { GenesisAccount } from '../src/devnet/model.ts';

const GLOBAL_ID = -217;

/** What a wallet sends. */
export interface Payment {
  to: Address;
  /** Nanotons. */
  value: bigint;
  bounce?: boolean;
  comment?: string;
}

/** A published wallet contract with a key made of its number. */
export interface TestWallet {
  address: Address;
  genesis(balance: bigint): GenesisAccount;
  /** A signed external message that sends the payments; counts the seqno up. */
  pay(...payments: Payment[]): Buffer;
  /** Of the next message. */
  seqno: number;
  /** As if the last message had never been made. */
  takeBack(): void;
}

/** The contracts in turn: v3r2, v4r2, v5r1. */
export function createTestWallet(number: number, workchain: 0 | -1 = 0): TestWallet {
  const keys = keyPairFromSeed(createHash('sha256').update(`wallet ${number}`).digest());
  const { publicKey, secretKey } = keys;
  const { address, init, transfer } = openContract(number % 3, workchain, publicKey, secretKey);
  const wallet: TestWallet = {
    seqno: 0,
    address,
    genesis: (balance) => ({
      workchain,
      hash: address.hash,
      balance,
      code: parseBoc(init.code.toBoc()),
      data: parseBoc(init.data.toBoc()),
    }),
    pay: (...payments) => {
      const messages = payments.map(({ to, value, bounce = false, comment }) =>
        internal({ to, value, bounce, ...(comment === undefined ? {} : { body: comment }) }),
      );
      const body = transfer(wallet.seqno++, messages);
      return beginCell()
        .store(storeMessage(external({ to: address, body })))
        .endCell()
        .toBoc();
    },
    takeBack: () => {
      wallet.seqno--;
    },
  };
  return wallet;
}

interface Contract {
  address: Address;
  init: { code: CoreCell; data: CoreCell };
  transfer(seqno: number, messages: MessageRelaxed[]): CoreCell;
}

function openContract(version: number, workchain: 0 | -1, publicKey: Buffer, secretKey: Buffer): Contract {
  const sendMode = SendMode.PAY_GAS_SEPARATELY | SendMode.IGNORE_ERRORS;
  const common = { secretKey, sendMode, timeout: 0xfffffff0 };
  if (version === 2) {
    const walletId = { networkGlobalId: GLOBAL_ID };
    const contract = WalletContractV5R1.create({ workchain, publicKey, walletId });
    const transfer = (seqno: number, messages: MessageRelaxed[]) =>
      contract.createTransfer({ ...common, seqno, messages });
    return { address: contract.address, init: contract.init, transfer };
  }
  const contract =
    version === 0
      ? WalletContractV3R2.create({ workchain, publicKey })
      : WalletContractV4.create({ workchain, publicKey });
  const { address, init } = contract;
  return { address, init, transfer: (seqno, messages) => contract.createTransfer({ ...common, seqno, messages }) };
}
