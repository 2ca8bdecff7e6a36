/** Jetton wallets and masters by code: TEP-74 and what grew out of its reference contracts. */

import { Builder, type Cell } from '../builder.ts';
import { addressOrNone, internalAddress } from '../layouts/addresses.ts';
import { CellView } from '../layouts/cell-view.ts';
import { amount, uint } from '../layouts/numbers.ts';
import { cell, type RecordOf, record, rest } from '../layouts/shapes.ts';
import type { Address, Hash } from '../model.ts';
import { type Content, contentCell, readContent, readText, textCell } from './content.ts';
import { type ContractLayout, contractLayout, type JettonMasterState, type JettonWalletState } from './reader.ts';

const balanceOfOwner = { balance: amount, owner: internalAddress, master: internalAddress };

type WalletFields = RecordOf<typeof balanceOfOwner>;

function walletState({ balance, owner, master }: WalletFields): JettonWalletState {
  return { kind: 'jetton_wallet', balance, owner, master };
}

const classicWalletData = record(null, { ...balanceOfOwner, code: cell });
const bareWalletData = record(null, balanceOfOwner);
const governedWalletData = record(null, { status: uint(4), ...balanceOfOwner });

/** The reference wallet of TEP-74 keeps its own code (ton-blockchain/token-contract). */
export const classicWallet = contractLayout(classicWalletData, walletState);

/** Those that find their own code in a register. */
export const bareWallet = contractLayout(bareWalletData, walletState);

/** Those that do not look at what stands behind. */
export const openWallet = contractLayout(record(null, { ...balanceOfOwner, more: rest }), walletState);

/** Of the governed jetton: what its admin has locked stands first (ton-blockchain/stablecoin-contract). */
export const governedWallet = contractLayout(governedWalletData, walletState);

/** Writes the data that a wallet is deployed with. */
type FirstData = (builder: Builder, owner: Address, master: Address, code: Cell) => void;

const FIRST_DATA: ReadonlyMap<ContractLayout, FirstData> = new Map<ContractLayout, FirstData>([
  [
    classicWallet,
    (builder, owner, master, code) =>
      classicWalletData.write(builder, { balance: '0', owner, master, code: CellView.from(code) }),
  ],
  [bareWallet, (builder, owner, master) => bareWalletData.write(builder, { balance: '0', owner, master })],
  [
    governedWallet,
    (builder, owner, master) => governedWalletData.write(builder, { status: 0, balance: '0', owner, master }),
  ],
]);

/** Neither depth nor special, code and data, no libraries. */
const CODE_AND_DATA = 0b00110;

/**
 * The account id of a wallet that was deployed for an owner with this code: the hash of its StateInit.
 *
 * @returns null for a layout whose first data is not known
 */
export function walletId(layout: ContractLayout, code: Cell, owner: Address, master: Address): Hash | null {
  const write = FIRST_DATA.get(layout);
  if (write === undefined) return null;
  const data = new Builder();
  write(data, owner, master, code);
  return new Builder().u(CODE_AND_DATA, 5).ref(code).ref(data.cell()).cell().hash();
}

interface MasterFields {
  totalSupply: string;
  admin: JettonMasterState['admin'];
  walletCode: CellView;
}

function masterState(fields: MasterFields, content: Content | null): JettonMasterState | null {
  if (content === null) return null;
  const { totalSupply, admin, walletCode } = fields;
  return { kind: 'jetton_master', totalSupply, mintable: true, admin, content, walletCodeHash: walletCode.hash() };
}

const classicMasterData = record(null, {
  totalSupply: amount,
  admin: addressOrNone,
  content: contentCell,
  walletCode: cell,
});

/** The reference master of TEP-74 (ton-blockchain/token-contract, `jetton-minter-discoverable`). */
export const classicMaster = contractLayout(classicMasterData, (fields) =>
  masterState(fields, readContent(fields.content)),
);

const governedMasterData = record(null, {
  totalSupply: amount,
  admin: addressOrNone,
  nextAdmin: addressOrNone,
  walletCode: cell,
  metadata: textCell,
});

/** A byte goes before the address in the content; an address that leaves no room for it breaks the get-method. */
const MAX_METADATA_BITS = 1023 - 8;

/** The governed master and its kin keep an address and make their content of it, with the decimals their code has. */
function governedMaster(decimals: string) {
  return contractLayout(governedMasterData, (fields) => {
    const uri = fields.metadata.bits > MAX_METADATA_BITS ? null : readText(fields.metadata);
    return uri === null ? null : masterState(fields, { uri, decimals });
  });
}

export const governedMaster6 = governedMaster('6');
export const governedMaster9 = governedMaster('9');
