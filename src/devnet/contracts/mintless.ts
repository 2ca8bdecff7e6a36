/** The devnet's mintless jetton: who its airdrop lists takes what is his with his first transfer. */
import { type Address, type Builder, beginCell, type Cell, contractAddress, Dictionary, type Slice } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const MINTLESS_OPS = { claim: 0x0df602d6 } as const;

export const mintlessMasterCode: Cell = codeCell(CODES.mintlessMaster);
export const mintlessWalletCode: Cell = codeCell(CODES.mintlessWallet);

/** Unix seconds for which an item counts: always. */
const ALWAYS = { from: 0, until: 2 ** 48 - 1 };

/** What the airdrop has for each owner. */
export type Airdrop = Dictionary<Address, bigint>;

const item = {
  serialize(amount: bigint, builder: Builder): void {
    builder.storeCoins(amount).storeUint(ALWAYS.from, 48).storeUint(ALWAYS.until, 48);
  },
  parse(slice: Slice): bigint {
    const amount = slice.loadCoins();
    slice.skip(96);
    return amount;
  },
};

export function airdropOf(items: Iterable<readonly [Address, bigint]>): Airdrop {
  const airdrop = Dictionary.empty(Dictionary.Keys.Address(), item);
  for (const [owner, amount] of items) airdrop.set(owner, amount);
  return airdrop;
}

/** The wallets have the hash of it. */
export const rootOf = (airdrop: Airdrop): bigint =>
  BigInt(`0x${beginCell().storeDictDirect(airdrop).endCell().hash().toString('hex')}`);

export const supplyOf = (airdrop: Airdrop): bigint => airdrop.values().reduce((sum, amount) => sum + amount, 0n);

/** First data of the master: all of the airdrop is part of the supply. */
export function mintlessMasterData(admin: Address, content: Cell, airdrop: Airdrop): Cell {
  return beginCell()
    .storeCoins(supplyOf(airdrop))
    .storeAddress(admin)
    .storeRef(content)
    .storeRef(mintlessWalletCode)
    .storeUint(rootOf(airdrop), 256)
    .endCell();
}

export function mintlessMasterAddress(admin: Address, content: Cell, airdrop: Airdrop): Address {
  return contractAddress(0, { code: mintlessMasterCode, data: mintlessMasterData(admin, content, airdrop) });
}

/** What a wallet begins with. */
export function mintlessWalletInit(owner: Address, master: Address, airdrop: Airdrop): { code: Cell; data: Cell } {
  const data = beginCell()
    .storeCoins(0)
    .storeAddress(owner)
    .storeAddress(master)
    .storeUint(rootOf(airdrop), 256)
    .storeBit(false)
    .endCell();
  return { code: mintlessWalletCode, data };
}

export const mintlessWalletAddress = (owner: Address, master: Address, airdrop: Airdrop): Address =>
  contractAddress(0, mintlessWalletInit(owner, master, airdrop));

export function readMintlessWallet(data: Cell): { balance: bigint; isClaimed: boolean } {
  const slice = data.beginParse();
  const balance = slice.loadCoins();
  slice.loadAddress();
  slice.loadAddress();
  slice.skip(256);
  return { balance, isClaimed: slice.loadBit() };
}

/** Custom payload of a transfer that claims. */
export function claimOf(airdrop: Airdrop, owner: Address): Cell {
  return beginCell()
    .storeUint(MINTLESS_OPS.claim, 32)
    .storeRef(airdrop.generateMerkleProof([owner]))
    .endCell();
}
