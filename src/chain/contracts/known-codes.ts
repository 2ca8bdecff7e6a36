/** Which code keeps its data in which layout. */
import type { CellView } from '../layouts/cell-view.ts';
import type { Hash } from '../model.ts';
import * as codes from './codes.ts';
import * as jettons from './jettons.ts';
import * as nfts from './nfts.ts';
import type { ContractLayout, ContractState } from './reader.ts';

const KNOWN: readonly (readonly [ContractLayout, readonly string[]])[] = [
  [jettons.classicWallet, codes.CLASSIC_WALLETS],
  [jettons.bareWallet, codes.BARE_WALLETS],
  [jettons.openWallet, codes.OPEN_WALLETS],
  [jettons.governedWallet, codes.GOVERNED_WALLETS],
  [jettons.classicMaster, codes.CLASSIC_MASTERS],
  [jettons.governedMaster6, codes.GOVERNED_MASTERS_6],
  [jettons.governedMaster9, codes.GOVERNED_MASTERS_9],
  [nfts.referenceItem, codes.REFERENCE_ITEMS],
  [nfts.referenceCollection, codes.REFERENCE_COLLECTIONS],
];

/** Layouts by code hash in hex. */
export const LAYOUTS: ReadonlyMap<string, ContractLayout> = new Map(
  KNOWN.flatMap(([layout, hashes]) => hashes.map((hash) => [hash, layout] as const)),
);

/**
 * How the data of a contract is read without running it; null for code whose get-methods must be asked. The reader gives
 * null for data of another shape: then, too, they must be asked.
 *
 * @param codeHash of the code cell, which may be a library cell
 */
export function readerOf(codeHash: Hash): ((data: CellView) => ContractState | null) | null {
  return LAYOUTS.get(codeHash.toString('hex'))?.read ?? null;
}
