/** Liquid staking (ton-blockchain/liquid-staking-contract). */
import { addressOrNone } from '../layouts/addresses.ts';
import { jettonBurnNotification, jettonInternalTransfer, jettonNotify } from '../layouts/jettons.ts';
import { body } from '../layouts/layout.ts';
import { coins, u64 } from '../layouts/numbers.ts';
import {
  liquidStakingDeposit,
  liquidStakingDistribution,
  liquidStakingMint,
  liquidStakingWithdraw,
  liquidStakingWithdrawal,
  payoutNftBurn,
  payoutNftBurnNotification,
  payoutNftInit,
  payoutNftPayout,
} from '../layouts/staking.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, destinationOf, messageOf, readBody, sentValue, sourceOf } from './bodies.ts';
import { nextCall } from './dex/swap.ts';
import { arrived, burnHead } from './jettons.ts';
import { declare, type Reading } from './kind.ts';
import { nftMint } from './nfts.ts';
import type { Match, Pattern } from './pattern.ts';
import {
  depositDetails,
  requestDetails,
  type StakeDeposit,
  type StakeRequest,
  type StakeWithdrawal,
  withdrawalDetails,
} from './staking.ts';
import type { RawAddress } from './trace.ts';

const PROVIDER = 'liquid_staking';
/** What a deposit pays the pool for its work, in nanotons. */
const DEPOSIT_FEE = 1_000_000_000n;

const difference = (a: Decimal, b: Decimal | bigint): Decimal => (BigInt(a) - BigInt(b)).toString();

export const liquidDeposit = declare<StakeDeposit>({
  block: 'tonstakers_deposit',
  type: 'stake_deposit',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 5,
      pattern: {
        op: liquidStakingDeposit.opcode,
        child: {
          op: liquidStakingMint.opcode,
          child: {
            op: jettonInternalTransfer.opcode,
            as: 'internal',
            child: { op: jettonNotify.opcode, optional: true },
          },
        },
      },
      read(found) {
        const { head } = found;
        const internal = found.first('internal');
        const minted = internal === null ? null : arrived(internal);
        if (internal === null || minted === null) return null;
        return {
          data: {
            holder: sourceOf(head),
            pool: destinationOf(head),
            amount: difference(sentValue(head), DEPOSIT_FEE),
            tokensMinted: minted.amount,
            asset: sourceOf(internal),
          },
          failed: head.failed,
        };
      },
    },
  ],
  details: (told) => depositDetails(PROVIDER, told),
  accounts: ({ holder, pool }) => ({ source: holder, destination: pool }),
});

/** A burn of tokens that reaches the pool, and what it does then. */
function burn(last: Pattern): Pattern {
  return {
    op: burnHead.opcode,
    child: {
      op: jettonBurnNotification.opcode,
      child: { op: liquidStakingWithdraw.opcode, as: 'withdraw', child: last },
    },
  };
}

export const liquidWithdrawal = declare<StakeWithdrawal>({
  block: 'tonstakers_withdraw',
  type: 'stake_withdrawal',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 2,
      pattern: {
        op: payoutNftPayout.opcode,
        parent: { op: payoutNftBurnNotification.opcode, as: 'burnt', parent: { op: payoutNftBurn.opcode, as: 'burn' } },
      },
      read: readDelayed,
    },
    {
      rank: 6,
      pattern: burn({ op: liquidStakingWithdrawal.opcode, as: 'paid' }),
      read(found) {
        const { head } = found;
        const withdraw = found.first('withdraw');
        const paid = found.first('paid');
        if (withdraw === null || paid === null) return null;
        return {
          data: {
            holder: sourceOf(head),
            pool: destinationOf(withdraw),
            amount: difference(sentValue(paid), sentValue(withdraw)),
            payoutNft: null,
            tokensBurnt: readBody(head, burnHead).amount,
            asset: sourceOf(withdraw),
          },
          failed: head.failed,
        };
      },
    },
  ],
  details: (told) => withdrawalDetails(PROVIDER, told),
  accounts: ({ holder, pool }) => ({ source: holder, destination: pool }),
});

/** Up to the owner, an account or nobody; the number of the item is not told. */
const burntHead = body('payout_nft_burnt', payoutNftBurnNotification.opcode, {
  query_id: u64,
  amount: coins,
  owner: addressOrNone,
});

function readDelayed(found: Match): Reading<StakeWithdrawal> | null {
  const burnt = found.first('burnt');
  const burning = found.first('burn');
  if (burnt === null || burning === null) return null;
  const { amount: tokensBurnt, owner } = readBody(burnt, burntHead);
  return {
    data: {
      holder: addressText(owner),
      pool: distributor(burning),
      amount: sentValue(found.head),
      payoutNft: sourceOf(burnt),
      tokensBurnt,
      asset: null,
    },
  };
}

const DISTRIBUTION: ReadonlySet<number | null> = new Set([
  payoutNftBurn.opcode,
  payoutNftBurnNotification.opcode,
  payoutNftPayout.opcode,
]);

/** Who began the distribution: payouts follow one another in a chain. Null when its beginning is something else. */
function distributor(from: Block): RawAddress | null {
  let block: Block | null = from;
  while (block !== null) {
    if (block.opcode === liquidStakingDistribution.opcode) return messageOf(block).source;
    if (!DISTRIBUTION.has(block.opcode) && liquidWithdrawal.of(block) === null) return null;
    block = block.prev;
  }
  return null;
}

export const liquidRequest = declare<StakeRequest & { wallet: RawAddress }>({
  block: 'tonstakers_withdraw_request',
  type: 'stake_withdrawal_request',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 6.1,
      pattern: burn({ op: liquidStakingMint.opcode, as: 'mint' }),
      read(found) {
        const { head } = found;
        const withdraw = found.first('withdraw');
        const mint = found.first('mint');
        if (withdraw === null || mint === null) return null;
        const payoutNft = mintedNft(mint);
        return {
          data: {
            holder: sourceOf(head),
            pool: destinationOf(withdraw),
            payoutNft,
            asset: sourceOf(withdraw),
            wallet: destinationOf(head),
          },
          failed: head.failed || payoutNft === null,
        };
      },
    },
  ],
  details: (told) => requestDetails(PROVIDER, told),
  accounts: ({ holder, pool, wallet }) => ({ source: holder, source2: wallet, destination: pool }),
});

/** The item that stands for the payout. It stays an action of its own. */
function mintedNft(mint: Block): RawAddress | null {
  const minted = mint.next.map((block) => nftMint.of(block)).find((one) => one !== null);
  if (minted) return minted.item.address;
  const init = nextCall(mint, payoutNftInit.opcode);
  return init === null ? null : destinationOf(init);
}

export const kinds = [liquidDeposit, liquidWithdrawal, liquidRequest];
