/** Stakes of validators at the elector, and of nominators in nominator pools. */

import { compareDecimal } from '../decimal.ts';
import {
  electorNewStake,
  electorNewStakeConfirmation,
  electorRecoverStake,
  electorRecoverStakeResponse,
} from '../layouts/staking.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { destinationOf, messageOf, sentValue, sourceOf } from './bodies.ts';
import type { Details } from './details.ts';
import { declare, given, type Reading } from './kind.ts';
import type { KnownContracts } from './known.ts';
import type { Match, Pattern } from './pattern.ts';
import { tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

const ELECTOR = `-1:${'3'.repeat(64)}`;

interface Election {
  holder: RawAddress | null;
  amount: Decimal | null;
}

const electionDetails = ({ holder, amount }: Election): Details => ({ stake_holder: holder, amount: given(amount) });

/** A call to the elector with its answer. Of what follows the answer, only its bounce belongs to it. */
function electorCall(op: number, answer: number): Pattern {
  return {
    op,
    where: ({ node }) => node.message?.destination === ELECTOR,
    child: { op: answer, as: 'answer', optional: true, returns: 'bounced' },
  };
}

export const electionDeposit = declare<Election>({
  block: 'election_deposit',
  groups: ['v1'],
  leaf: true,
  matchers: [
    {
      rank: 34,
      pattern: electorCall(electorNewStake.opcode, electorNewStakeConfirmation.opcode),
      read: (found) => ({
        data: { holder: messageOf(found.head).source, amount: sentValue(found.head) },
        failed: found.first('answer') === null,
      }),
    },
  ],
  details: electionDetails,
  accounts: ({ holder }) => ({ source: holder }),
});

export const electionRecover = declare<Election>({
  block: 'election_recover',
  groups: ['v1'],
  leaf: true,
  matchers: [
    {
      rank: 35,
      pattern: electorCall(electorRecoverStake.opcode, electorRecoverStakeResponse.opcode),
      read(found) {
        const answer = found.first('answer');
        const amount = answer === null ? null : sentValue(answer);
        return { data: { holder: messageOf(found.head).source, amount }, failed: answer === null };
      },
    },
  ],
  details: electionDetails,
  accounts: ({ holder }) => ({ source: holder }),
});

/** What stake_deposit prints, whoever the provider is. */
export interface StakeDeposit {
  holder: RawAddress | null;
  pool: RawAddress;
  amount: Decimal;
  tokensMinted: Decimal | null;
  asset: RawAddress | null;
}

export function depositDetails(provider: string, { holder, pool, amount, tokensMinted, asset }: StakeDeposit): Details {
  return { provider, stake_holder: holder, pool, amount, tokens_minted: tokensMinted, asset };
}

/** What stake_withdrawal prints, whoever the provider is. */
export interface StakeWithdrawal {
  holder: RawAddress | null;
  pool: RawAddress | null;
  amount: Decimal;
  payoutNft: RawAddress | null;
  tokensBurnt: Decimal | null;
  asset: RawAddress | null;
}

export function withdrawalDetails(provider: string, told: StakeWithdrawal): Details {
  return {
    provider,
    stake_holder: told.holder,
    pool: told.pool,
    amount: told.amount,
    payout_nft: told.payoutNft,
    tokens_burnt: told.tokensBurnt,
    asset: told.asset,
  };
}

/** What stake_withdrawal_request prints, whoever the provider is. */
export interface StakeRequest {
  holder: RawAddress | null;
  pool: RawAddress;
  payoutNft: RawAddress | null;
  asset: RawAddress | null;
}

export function requestDetails(provider: string, { holder, pool, payoutNft, asset }: StakeRequest): Details {
  // The tokens that were burnt have a key of their own and are never told there.
  return { provider, stake_holder: holder, pool, payout_nft: payoutNft, asset, tokens_burnt: null };
}

const NOMINATOR = 'nominator';
/** A nominator pool is asked to work off withdrawals that wait. */
const PROCESS_WITHDRAWALS = 2;

/** A comment to a nominator pool. */
function poolComment(text: string): Pattern {
  return {
    block: tonTransfer.block,
    where: (block, known) =>
      tonTransfer.of(block)?.comment().text === text && known.isNominatorPool(block.node.transaction.account),
    returns: true,
  };
}

export const nominatorDeposit = declare<StakeDeposit>({
  block: 'nominator_pool_deposit',
  type: 'stake_deposit',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 12,
      pattern: poolComment('d'),
      read: ({ head }) => ({
        data: {
          holder: sourceOf(head),
          pool: destinationOf(head),
          amount: sentValue(head),
          tokensMinted: null,
          asset: null,
        },
        failed: head.failed,
      }),
    },
  ],
  details: (told) => depositDetails(NOMINATOR, told),
  accounts: ({ holder, pool }) => ({ source: holder, destination: pool }),
});

/** What a pool sent when it was asked for the stake; null when that was not the stake. */
function paidOut(head: Block, payments: readonly Block[]): Decimal | null {
  if (payments.length === 2) return sentValue(payments[0]);
  if (payments.length !== 1) return null;
  const amount = sentValue(payments[0]);
  return compareDecimal(amount, sentValue(head)) > 0 ? amount : null;
}

function readWithdrawal(found: Match): { amount: Decimal | null; blocks: Set<Block> } {
  const payments = found.head.next.filter((block) => tonTransfer.of(block) !== null);
  payments.sort((a, b) => compareDecimal(a.minLt, b.minLt));
  const blocks = found.all();
  // More than two are something else.
  if (payments.length <= 2) for (const payment of payments) blocks.add(payment);
  return { amount: paidOut(found.head, payments), blocks };
}

export const nominatorWithdrawal = declare<StakeWithdrawal>({
  block: 'nominator_pool_withdraw_request',
  type: 'stake_withdrawal',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 13,
      pattern: poolComment('w'),
      read(found) {
        const { head } = found;
        const { amount, blocks } = readWithdrawal(found);
        if (amount === null) return null;
        return { data: withdrawal(sourceOf(head), destinationOf(head), amount), failed: head.failed, blocks };
      },
    },
    {
      rank: 14,
      pattern: { block: tonTransfer.block, parent: { op: PROCESS_WITHDRAWALS, where: toPool } },
      read: readWorkedOff,
    },
  ],
  details: (told) => withdrawalDetails(NOMINATOR, told),
  accounts: ({ holder, pool }) => ({ source: holder, destination: pool }),
});

function withdrawal(holder: RawAddress, pool: RawAddress, amount: Decimal): StakeWithdrawal {
  return { holder, pool, amount, payoutNft: null, tokensBurnt: null, asset: null };
}

function toPool({ node }: Block, known: KnownContracts): boolean {
  return known.isNominatorPool(node.transaction.account);
}

/** The call that had the pool pay stays apart. */
function readWorkedOff({ head }: Match): Reading<StakeWithdrawal> {
  return { data: withdrawal(destinationOf(head), sourceOf(head), sentValue(head)), blocks: [head] };
}

export const nominatorRequest = declare<StakeRequest>({
  block: 'nominator_pool_withdraw_request',
  type: 'stake_withdrawal_request',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 13,
      pattern: poolComment('w'),
      read(found) {
        const { head } = found;
        const { amount, blocks } = readWithdrawal(found);
        if (amount !== null) return null;
        const data = { holder: sourceOf(head), pool: destinationOf(head), payoutNft: null, asset: null };
        return { data, failed: head.failed, blocks };
      },
    },
  ],
  details: (told) => requestDetails(NOMINATOR, told),
  accounts: ({ holder, pool }) => ({ source: holder, destination: pool }),
});

export const kinds = [electionDeposit, electionRecover, nominatorDeposit, nominatorWithdrawal, nominatorRequest];
