/**
 * The devnet's exchange: a router that holds jettons, and a pool of two of them that keeps the product of its reserves.
 * Their messages are those of STON.fi v1, so trades are told as its are. The pool's reserves are of the zero state.
 */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';
import { jettonWalletAddress } from './jettons.ts';

export const EXCHANGE_OPS = { swap: 0x25938561, payTo: 0xf93bb43f } as const;
/** Exit codes of a payment. */
export const EXCHANGE_PAID = { traded: 0xc64370e5, refused: 0x5ffe1295 } as const;

export const exchangeRouterCode: Cell = codeCell(CODES.exchangeRouter);
export const exchangePoolCode: Cell = codeCell(CODES.exchangePool);

export const exchangeRouterData: Cell = beginCell().storeRef(exchangePoolCode).endCell();
export const exchangeRouterAddress: Address = contractAddress(0, {
  code: exchangeRouterCode,
  data: exchangeRouterData,
});

/** The router's wallets of two jettons, in the order in which their pool has them. */
function tokensOf(one: Address, other: Address): [Address, Address] {
  const first = jettonWalletAddress(exchangeRouterAddress, one);
  const second = jettonWalletAddress(exchangeRouterAddress, other);
  return first.hash.compare(second.hash) < 0 ? [first, second] : [second, first];
}

/** Data of the pool of two jettons, that has as much of either. */
export function exchangePoolData(one: Address, other: Address, reserve: bigint): Cell {
  const [token0, token1] = tokensOf(one, other);
  const reserves = beginCell().storeCoins(reserve).storeCoins(reserve).endCell();
  return beginCell()
    .storeAddress(exchangeRouterAddress)
    .storeAddress(token0)
    .storeAddress(token1)
    .storeRef(reserves)
    .endCell();
}

export function exchangePoolAddress(one: Address, other: Address): Address {
  return contractAddress(0, { code: exchangePoolCode, data: exchangePoolData(one, other, 0n) });
}

/** Units of the two tokens, in the pool's order. */
export function readExchangePool(data: Cell): [bigint, bigint] {
  const slice = data.refs[0].beginParse();
  return [slice.loadCoins(), slice.loadCoins()];
}

/** To be sent to the router along with the jettons that are sold. */
export function exchangePayload(trade: { bought: Address; minOut: bigint; to: Address }): Cell {
  return beginCell()
    .storeUint(EXCHANGE_OPS.swap, 32)
    .storeAddress(jettonWalletAddress(exchangeRouterAddress, trade.bought))
    .storeCoins(trade.minOut)
    .storeAddress(trade.to)
    .storeBit(false)
    .endCell();
}
