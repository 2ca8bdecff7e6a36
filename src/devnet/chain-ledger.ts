import { type Address, Cell as CoreCell } from '@ton/core';
import { type Cell, parseBoc, Slice, toBoc } from '../chain/builder.ts';
import { DecodeError } from '../chain/errors.ts';
import type { InitialAccount } from './actors/initial-accounts.ts';
import type { Ledger, LedgerAccount } from './actors/ledger.ts';
import type { Chain, GenesisAccount } from './model.ts';

/** The chain as the actors see it. */
export function chainLedger(chain: Pick<Chain, 'account' | 'submit'>): Ledger {
  return {
    account({ workChain, hash }) {
      const found = chain.account(workChain, hash);
      return found === null ? null : readLedgerAccount(found.account);
    },
    submit(message, how) {
      const result = chain.submit(message.toBoc({ idx: false }), how);
      return result.accepted ? { accepted: true } : { accepted: false, reason: result.reason };
    },
  };
}

/**
 * Reads what the actors need of an `Account` (block.tlb): null for `account_none$0`.
 * @throws {DecodeError} when it is none
 */
export function readLedgerAccount(account: Cell): LedgerAccount | null {
  const slice = new Slice(account);
  if (!slice.bit()) return null;
  skipAddress(slice);
  skipStorageInfo(slice);
  slice.skip(64);
  const balance = slice.grams();
  slice.maybeRef();
  if (!slice.bit()) return { status: slice.bit() ? 'frozen' : 'uninit', balance, data: null };
  if (slice.bit()) slice.skip(5);
  if (slice.bit()) slice.skip(2);
  slice.maybeRef();
  const data = slice.maybeRef();
  return { status: 'active', balance, data: data === null ? null : coreCell(data) };
}

/** `addr_std$10`, the only form that accounts have. */
function skipAddress(slice: Slice): void {
  if (slice.u(3) !== 0b100) throw new DecodeError('an account whose address is not addr_std');
  slice.skip(8 + 256);
}

/** `storage_info$_ used:StorageUsed storage_extra:StorageExtraInfo last_paid:uint32 due_payment:(Maybe Grams)`. */
function skipStorageInfo(slice: Slice): void {
  slice.varUint(3);
  slice.varUint(3);
  if (slice.u(3) === 1) slice.skip(256);
  slice.skip(32);
  if (slice.bit()) slice.grams();
}

function coreCell(cell: Cell): CoreCell {
  return CoreCell.fromBoc(toBoc(cell))[0];
}

/** Accounts of the zero state as the chain takes them. */
export function genesisOf(accounts: readonly InitialAccount[]): GenesisAccount[] {
  // One object for each code, so that the chain hashes it once.
  const codes = new Map<string, Cell>();
  const codeOf = (code: CoreCell): Cell => {
    const key = code.hash().toString('latin1');
    const known = codes.get(key) ?? parseBoc(code.toBoc());
    codes.set(key, known);
    return known;
  };
  return accounts.map(({ address, balance, code, data }) => ({
    ...placeOf(address),
    balance,
    code: codeOf(code),
    data: parseBoc(data.toBoc()),
  }));
}

function placeOf({ workChain, hash }: Address): Pick<GenesisAccount, 'workchain' | 'hash'> {
  return { workchain: workChain, hash };
}
