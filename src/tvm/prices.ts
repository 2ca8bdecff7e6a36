/** Prices of a configuration, and what they make of sizes and gas (crypto/block/block.tlb, crypto/block/mc-config.cpp). */
import { type Cell, Slice } from '../chain/builder.ts';
import { eachLeaf } from '../chain/dictionary.ts';
import { DecodeError } from '../chain/errors.ts';
import { configParam } from './config.ts';

/** Cells and bits of trees, each distinct cell once. */
export interface Size {
  cells: bigint;
  bits: bigint;
}

/** Size of all below some cells, the cells themselves left out. */
export function sizeBelow(...roots: readonly Cell[]): Size {
  const seen = new Set<string>();
  let bits = 0n;
  const stack = roots.flatMap((root) => root.refs);
  for (let cell = stack.pop(); cell !== undefined; cell = stack.pop()) {
    if (seen.has(cell.key())) continue;
    seen.add(cell.key());
    bits += BigInt(cell.bits);
    stack.push(...cell.refs);
  }
  return { cells: BigInt(seen.size), bits };
}

/** Prices count 65,536ths of a nanoton. */
const roundUp = (value: bigint): bigint => (value + 0xffffn) >> 16n;

/** `MsgForwardPrices`: parameter 24 for messages from or to the masterchain, 25 for others. */
export interface ForwardPrices {
  lump: bigint;
  bit: bigint;
  cell: bigint;
}

export function forwardPrices(config: Cell, masterchain: boolean): ForwardPrices {
  const slice = new Slice(requireParam(config, masterchain ? 24 : 25)).tag(8, 0xea, 'MsgForwardPrices');
  return { lump: slice.big(64), bit: slice.big(64), cell: slice.big(64) };
}

/** Nanotons. */
export function forwardFee(prices: ForwardPrices, { cells, bits }: Size): bigint {
  return prices.lump + roundUp(prices.bit * bits + prices.cell * cells);
}

/** `GasLimitsPrices`: parameter 20 for the masterchain, 21 for others. */
export interface GasPrices {
  flatLimit: bigint;
  flatPrice: bigint;
  price: bigint;
  limit: bigint;
}

export function gasPrices(config: Cell, masterchain: boolean): GasPrices {
  const slice = new Slice(requireParam(config, masterchain ? 20 : 21));
  let tag = slice.u(8);
  let [flatLimit, flatPrice] = [0n, 0n];
  if (tag === 0xd1) {
    [flatLimit, flatPrice] = [slice.big(64), slice.big(64)];
    tag = slice.u(8);
  }
  if (tag !== 0xdd && tag !== 0xde) throw new DecodeError(`tag ${tag.toString(16)} is not GasLimitsPrices`);
  return { flatLimit, flatPrice, price: slice.big(64), limit: slice.big(64) };
}

/** Nanotons for an amount of gas. */
export function gasFee(prices: GasPrices, gas: bigint): bigint {
  if (gas <= prices.flatLimit) return prices.flatPrice;
  return prices.flatPrice + roundUp(prices.price * (gas - prices.flatLimit));
}

/** Gas that an amount of nanotons buys, up to the limit of a transaction. */
export function gasBought(prices: GasPrices, nanotons: bigint): bigint {
  const { flatLimit, flatPrice, price, limit } = prices;
  if (nanotons < flatPrice) return 0n;
  const all = flatLimit + (price === 0n ? limit : ((nanotons - flatPrice) << 16n) / price);
  return all < limit ? all : limit;
}

/** `StoragePrices`: one entry of parameter 18. */
interface StoragePrice {
  since: number;
  bit: bigint;
  cell: bigint;
}

/** Nanotons for storing a size from one time (unix seconds) to another. 0 for who has never paid. */
export function storageFee(config: Cell, masterchain: boolean, size: Size, from: number, to: number): bigint {
  const prices = storagePrices(config, masterchain);
  if (from === 0 || prices.length === 0) return 0n;
  let total = 0n;
  prices.forEach((price, i) => {
    const begin = Math.max(from, price.since);
    const end = i + 1 < prices.length ? Math.min(to, prices[i + 1].since) : to;
    if (end > begin) total += (size.cells * price.cell + size.bits * price.bit) * BigInt(end - begin);
  });
  return roundUp(total);
}

/** In the order of their times. */
function storagePrices(config: Cell, masterchain: boolean): StoragePrice[] {
  const prices: StoragePrice[] = [];
  eachLeaf(requireParam(config, 18), 32, (leaf) => {
    const since = leaf.tag(8, 0xcc, 'StoragePrices').u(32);
    const [bit, cell, masterBit, masterCell] = [leaf.big(64), leaf.big(64), leaf.big(64), leaf.big(64)];
    prices.push(masterchain ? { since, bit: masterBit, cell: masterCell } : { since, bit, cell });
  });
  return prices;
}

function requireParam(config: Cell, index: number): Cell {
  const cell = configParam(config, index);
  if (cell === null) throw new DecodeError(`configuration parameter ${index} is not set`);
  return cell;
}
