import { createHash } from 'node:crypto';
import { type Address, beginCell, type Cell as CoreCell, external, internal, SendMode, storeMessage } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV3R2, WalletContractV4, WalletContractV5R1 } from '@ton/ton';
import { parseBoc } from '../src/chain/builder.ts';
import type { GenesisAccount } from '../src/devnet/chain.ts';

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
  /** As if the last message had never been made. */
  takeBack(): void;
}

/** The contracts in turn: v3r2, v4r2, v5r1. */
export function createTestWallet(number: number, workchain: 0 | -1 = 0): TestWallet {
  const keys = keyPairFromSeed(createHash('sha256').update(`wallet ${number}`).digest());
  const { publicKey, secretKey } = keys;
  const contract = [
    () => WalletContractV3R2.create({ workchain, publicKey }),
    () => WalletContractV4.create({ workchain, publicKey }),
    () => WalletContractV5R1.create({ workchain, publicKey, walletId: { networkGlobalId: GLOBAL_ID } }),
  ][number % 3]();
  let seqno = 0;
  return {
    address: contract.address,
    genesis: (balance) => ({
      workchain,
      hash: contract.address.hash,
      balance,
      code: parseBoc(contract.init.code.toBoc()),
      data: parseBoc(contract.init.data.toBoc()),
    }),
    pay: (...payments) => {
      const messages = payments.map(({ to, value, bounce = false, comment }) =>
        internal({ to, value, bounce, ...(comment === undefined ? {} : { body: comment }) }),
      );
      const sendMode = SendMode.PAY_GAS_SEPARATELY | SendMode.IGNORE_ERRORS;
      const body: CoreCell = contract.createTransfer({
        seqno: seqno++,
        secretKey,
        sendMode,
        messages,
        timeout: 0xfffffff0,
      });
      return beginCell()
        .store(storeMessage(external({ to: contract.address, body })))
        .endCell()
        .toBoc();
    },
    takeBack: () => {
      seqno--;
    },
  };
}
