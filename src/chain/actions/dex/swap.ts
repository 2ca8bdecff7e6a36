import type { Decimal } from '../../model.ts';
import type { Block } from '../block.ts';
import type { Details } from '../details.ts';
import type { JettonTransfer } from '../jettons.ts';
import { declare, type Kind, type Matcher } from '../kind.ts';
import type { Asset, KnownContracts } from '../known.ts';
import type { RawAddress } from '../trace.ts';

/** What went into an exchange, or came out of it. */
export interface Leg {
  asset: Asset;
  amount: Decimal;
  source: RawAddress | null;
  destination: RawAddress | null;
  /** Null for TON. */
  sourceWallet: RawAddress | null;
  destinationWallet: RawAddress | null;
}

/** One pool on the way. */
export interface Hop {
  assetIn: Asset;
  amountIn: Decimal;
  assetOut: Asset;
  amountOut: Decimal;
}

/** A trade, whatever the exchange. */
export interface Swap {
  sender: RawAddress | null;
  incoming: Leg;
  outgoing: Leg;
  /** What was asked for: when the trade failed, what came out is another asset. */
  assetIn: Asset;
  assetOut: Asset;
  /** Empty for a single pool. */
  hops: readonly Hop[];
  /** Printed by one exchange only. */
  minOut?: Decimal;
  /** Instead of the wallet that received, in the index of accounts. */
  requestedWallet?: RawAddress | null;
}

/** The swaps of one exchange. All are blocks of one name. */
export function declareSwap(dex: string, matchers: readonly Matcher<Swap>[]): Kind<Swap> {
  return declare<Swap>({
    block: 'jetton_swap',
    groups: ['v1'],
    leaf: true,
    matchers,
    details: (swap) => ({
      dex,
      sender: swap.sender,
      asset_in: swap.assetIn,
      asset_out: swap.assetOut,
      dex_incoming_transfer: legDetails(swap.incoming),
      dex_outgoing_transfer: legDetails(swap.outgoing),
      peer_swaps: swap.hops.map(({ assetIn, amountIn, assetOut, amountOut }) => ({
        asset_in: assetIn,
        amount_in: amountIn,
        asset_out: assetOut,
        amount_out: amountOut,
      })),
      min_out_amount: swap.minOut,
    }),
    accounts: ({ incoming, outgoing, requestedWallet }) => ({
      source: incoming.source,
      source2: incoming.sourceWallet,
      destination: outgoing.destination,
      destination2: requestedWallet === undefined ? outgoing.destinationWallet : requestedWallet,
    }),
  });
}

function legDetails(leg: Leg): Details {
  return {
    asset: leg.asset,
    source: leg.source,
    destination: leg.destination,
    source_jetton_wallet: leg.sourceWallet,
    destination_jetton_wallet: leg.destinationWallet,
    amount: leg.amount,
  };
}

/** A jetton transfer as a leg of a trade. */
export function transferLeg(transfer: JettonTransfer, asset: Asset): Leg {
  return {
    asset,
    amount: transfer.amount,
    source: transfer.sender,
    destination: transfer.receiver,
    sourceWallet: transfer.senderWallet,
    destinationWallet: transfer.receiverWallet,
  };
}

/** TON as a leg of a trade. */
export function tonLeg(amount: Decimal, source: RawAddress | null, destination: RawAddress | null): Leg {
  return { asset: null, amount, source, destination, sourceWallet: null, destinationWallet: null };
}

/** The master of a jetton wallet, null when it is not known. */
export function masterOf(wallet: RawAddress | null, known: KnownContracts): RawAddress | null {
  return wallet === null ? null : (known.jettonWallet(wallet)?.jetton ?? null);
}

/** The first block below this one with an opcode. */
export function nextCall({ next }: Block, opcode: number): Block | null {
  return next.find((block) => block.opcode === opcode) ?? null;
}
