/** An account with extra currencies, as a node answers it: a published library writes the cell. */
import { Address, beginCell, Dictionary, storeAccount } from '@ton/core';
import { workchainOf } from '../src/chain/address.ts';
import { canonicalBoc } from '../src/chain/canonical.ts';
import type { Address as AccountAddress, Hash } from '../src/chain/model.ts';

export interface ExtraAccount {
  /** The `Account` cell. */
  boc: Buffer;
  hash: Hash;
}

/** @param extra amounts by currency */
export function extraAccount(
  account: AccountAddress,
  lt: string,
  extra: Readonly<Record<number, string>>,
): ExtraAccount {
  const other = Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.BigVarUint(5));
  for (const [id, amount] of Object.entries(extra)) other.set(Number(id), BigInt(amount));
  const written = storeAccount({
    addr: new Address(workchainOf(account), account.subarray(4)),
    storageStats: { used: { cells: 1n, bits: 100n }, lastPaid: 0, duePayment: null, storageExtra: null },
    storage: { lastTransLt: BigInt(lt), balance: { coins: 5n, other }, state: { type: 'uninit' } },
  });
  const cell = beginCell().storeBit(true).store(written).endCell();
  return { boc: canonicalBoc(cell.toBoc()), hash: cell.hash() };
}
