/** Jetton wallets and masters by code: TEP-74 and what grew out of its reference contracts. */
import { addressOrNone, internalAddress } from '../layouts/addresses.ts';
import type { CellView } from '../layouts/cell-view.ts';
import { amount, uint } from '../layouts/numbers.ts';
import { cell, type RecordOf, record, rest } from '../layouts/shapes.ts';
import { type Content, contentCell, readContent, readText, textCell } from './content.ts';
import { contractLayout, type JettonMasterState, type JettonWalletState } from './reader.ts';

const balanceOfOwner = { balance: amount, owner: internalAddress, master: internalAddress };

type WalletFields = RecordOf<typeof balanceOfOwner>;

function walletState({ balance, owner, master }: WalletFields): JettonWalletState {
  return { kind: 'jetton_wallet', balance, owner, master };
}

/** The reference wallet of TEP-74 keeps its own code (ton-blockchain/token-contract). */
export const classicWallet = contractLayout(record(null, { ...balanceOfOwner, code: cell }), walletState);

/** Those that find their own code in a register. */
export const bareWallet = contractLayout(record(null, balanceOfOwner), walletState);

/** Those that do not look at what stands behind. */
export const openWallet = contractLayout(record(null, { ...balanceOfOwner, more: rest }), walletState);

/** Of the governed jetton: what its admin has locked stands first (ton-blockchain/stablecoin-contract). */
export const governedWallet = contractLayout(record(null, { status: uint(4), ...balanceOfOwner }), walletState);

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
