/** JVault: pools in which jettons are staked for rewards. */
import { addressOf, rawAddress } from '../address.ts';
import { DecodeError } from '../errors.ts';
import { internalAddress } from '../layouts/addresses.ts';
import type { Codec } from '../layouts/codec.ts';
import { body } from '../layouts/layout.ts';
import { bit, coins, u32, u64 } from '../layouts/numbers.ts';
import {
  jvaultClaimRewards,
  jvaultReceiveJettons,
  jvaultRequestUpdateReferrer,
  jvaultRequestUpdateRewards,
  jvaultSendClaimedRewards,
  jvaultSetData,
  jvaultUnstakeJettons,
  jvaultUnstakeRequest,
  jvaultUpdateReferrer,
  jvaultUpdateRewards,
} from '../layouts/services.ts';
import { record } from '../layouts/shapes.ts';
import type { Decimal } from '../model.ts';
import { destinationOf, messageOf, readBody, sourceOf } from './bodies.ts';
import type { Details } from './details.ts';
import { jettonTransfer, transferHead } from './jettons.ts';
import { declare, type Group } from './kind.ts';
import type { KnownContracts } from './known.ts';
import type { Match, Pattern } from './pattern.ts';
import { tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

const groups: readonly Group[] = ['v2', 'jvault'];

const CANCEL_STAKE = 0x9eada1d9;

/** The referrers of a staker, one behind the other: each has his own asked for when he is told. */
const referrers: Pattern = {
  chain: {
    of: {
      op: jvaultRequestUpdateReferrer.opcode,
      chain: { of: { op: jvaultRequestUpdateReferrer.opcode }, until: { op: jvaultUpdateReferrer.opcode } },
    },
  },
  optional: true,
};
const update: Pattern = { op: jvaultUpdateRewards.opcode };
const payout: Pattern = { block: jettonTransfer.block, as: 'payout' };

interface Stake {
  period: number;
  stakeWallet: RawAddress;
  source: RawAddress | null;
  wallet: RawAddress | null;
  asset: RawAddress | null;
  pool: RawAddress;
  amount: Decimal;
}

const stake = declare<Stake>({
  block: 'jvault_stake',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 48,
      pattern: {
        block: jettonTransfer.block,
        children: [
          {
            op: jvaultReceiveJettons.opcode,
            as: 'received',
            child: {
              any: [
                { op: jvaultRequestUpdateRewards.opcode, as: 'done', children: [referrers, update] },
                { op: CANCEL_STAKE, as: 'cancelled', child: { ...payout, optional: true } },
              ],
            },
          },
          { op: jvaultSetData.opcode, optional: true },
        ],
      },
      read(found) {
        const transfer = jettonTransfer.of(found.head);
        const received = found.first('received');
        const payload = transfer?.forwardPayload?.cursor();
        if (transfer === null || received === null || payload === undefined) return null;
        payload.skip(32);
        return {
          data: {
            period: payload.u(32),
            stakeWallet: destinationOf(received),
            source: transfer.sender,
            wallet: transfer.senderWallet,
            asset: transfer.asset,
            pool: sourceOf(received),
            amount: readBody(found.head, transferHead).amount,
          },
          failed:
            [found.head, received, found.first('done')].some((block) => block?.failed) ||
            found.first('cancelled') !== null,
        };
      },
    },
  ],
  details: ({ period, stakeWallet, source, wallet, asset, pool, amount }) => ({
    period,
    minted_stake_jettons: null,
    stake_wallet: stakeWallet,
    source,
    source_jetton_wallet: wallet,
    asset,
    pool,
    amount,
  }),
  accounts: ({ source, wallet, pool }) => ({ source, source2: wallet, destination: pool }),
});

const walletData = record(null, { pool: internalAddress, minter: internalAddress });
const poolData = record(null, {
  flag: bit,
  number: u32,
  admin: internalAddress,
  creator: internalAddress,
  lock_wallet: internalAddress,
});

/** What the contracts' own data say of a stake. */
interface Staked {
  pool: RawAddress;
  /** The jetton that is staked, null when the pool's data are not known. */
  asset: RawAddress | null;
  minter: RawAddress;
}

/** Null where a contract's data are not of its layout, or the pool's wallet of the jetton is not known. */
function stakedIn(wallet: RawAddress, known: KnownContracts): Staked | null {
  const own = dataOf(wallet, walletData, known);
  if (own === null) return null;
  const pool = rawAddress(own.pool);
  const minter = rawAddress(own.minter);
  if (known.data(pool) === undefined) return { pool, asset: null, minter };
  const lock = dataOf(pool, poolData, known)?.lock_wallet;
  const asset = lock === undefined ? undefined : known.jettonWallet(rawAddress(lock))?.jetton;
  return asset === undefined ? null : { pool, asset, minter };
}

/** What a contract keeps, null when that is not known or not of this layout. */
function dataOf<T>(address: RawAddress, layout: Codec<T>, known: KnownContracts): T | null {
  try {
    const data = known.data(address);
    return data === undefined ? null : layout.read(data.cursor());
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

interface Unstake {
  source: RawAddress | null;
  stakeWallet: RawAddress;
  pool: RawAddress;
  amount: Decimal;
  /** Null when what was asked for was done. */
  exitCode: number | null;
  asset: RawAddress | null;
  minter: RawAddress | null;
}

const unstakeDetails = ({ source, stakeWallet, pool, amount, exitCode, asset, minter }: Unstake): Details => ({
  source,
  stake_wallet: stakeWallet,
  pool,
  amount,
  exit_code: exitCode,
  asset,
  staking_asset: minter,
});

const unstakeAccounts = ({ source, stakeWallet, pool }: Unstake) => ({
  source,
  source2: stakeWallet,
  destination: pool,
});

/** Up to the amount: whether it was forced is not told. */
const unstakeHead = body(jvaultUnstakeJettons.name, jvaultUnstakeJettons.opcode, {
  query_id: u64,
  jettons_to_unstake: coins,
});

function readUnstake(found: Match, layout: typeof unstakeHead, staked: Staked | null): Unstake | null {
  const { head } = found;
  const done = found.first('done');
  if (done === null && (staked === null || staked.asset === null)) return null;
  return {
    source: messageOf(head).source,
    stakeWallet: destinationOf(head),
    pool: done === null ? (staked?.pool ?? '') : destinationOf(done),
    amount: readBody(head, layout).jettons_to_unstake,
    exitCode: done === null ? head.node.transaction.exitCode : null,
    asset: staked?.asset ?? null,
    minter: staked?.minter ?? null,
  };
}

const unstake = declare<Unstake>({
  block: 'jvault_unstake',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 49,
      pattern: {
        op: unstakeHead.opcode,
        child: {
          op: jvaultRequestUpdateRewards.opcode,
          as: 'done',
          optional: true,
          children: [referrers, { block: tonTransfer.block, optional: true }, payout, update],
        },
      },
      read(found, known) {
        const staked = stakedIn(destinationOf(found.head), known);
        const data = staked === null || staked.asset === null ? null : readUnstake(found, unstakeHead, staked);
        const paid = jettonTransfer.of(found.first('payout'));
        if (data === null || (paid !== null && paid.asset !== data.asset)) return null;
        return { data };
      },
    },
  ],
  details: unstakeDetails,
  accounts: unstakeAccounts,
});

interface Claim {
  rewards: { jetton: RawAddress; amount: Decimal }[];
  source: RawAddress | null;
  stakeWallet: RawAddress;
  pool: RawAddress;
}

/** Bits in front of the hash in a standard address: tag, no anycast, workchain. */
const ADDRESS_BITS = 267;
const HASH_BITS = 256n;

/** A standard address that is the key of a dictionary. */
function addressOfKey(key: string): RawAddress {
  const spare = BigInt(key.length * 4 - ADDRESS_BITS);
  const bits = BigInt(`0x${key}`) >> spare;
  const hash = Buffer.from((bits & ((1n << HASH_BITS) - 1n)).toString(16).padStart(64, '0'), 'hex');
  return rawAddress(addressOf(Number(BigInt.asIntN(8, bits >> HASH_BITS)), hash));
}

const claim = declare<Claim>({
  block: 'jvault_claim',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 50,
      pattern: {
        op: jvaultClaimRewards.opcode,
        child: { op: jvaultSendClaimedRewards.opcode, as: 'sent', children: [payout, update] },
      },
      read(found) {
        const sent = found.first('sent');
        const paid = found.first('payout');
        if (sent === null || paid === null) return null;
        const jettons = [...readBody(found.head, jvaultClaimRewards).jettons_to_claim.keys()];
        // Only one amount is told: of several jettons nobody could say whose it is.
        const { amount } = readBody(paid, transferHead);
        const rewards = jettons.length === 1 ? [{ jetton: addressOfKey(jettons[0]), amount }] : [];
        return {
          data: {
            rewards,
            source: messageOf(found.head).source,
            stakeWallet: destinationOf(found.head),
            pool: destinationOf(sent),
          },
        };
      },
    },
  ],
  details: ({ rewards, source, stakeWallet, pool }) => ({
    claimed_rewards: rewards,
    source,
    stake_wallet: stakeWallet,
    pool,
  }),
  accounts: ({ source, stakeWallet, pool }) => ({ source, source2: stakeWallet, destination: pool }),
});

const unstakeRequest = declare<Unstake>({
  block: 'jvault_unstake_request',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 51,
      pattern: {
        op: jvaultUnstakeRequest.opcode,
        child: { op: jvaultRequestUpdateRewards.opcode, as: 'done', optional: true, children: [referrers, update] },
      },
      read(found, known) {
        const data = readUnstake(found, jvaultUnstakeRequest, stakedIn(destinationOf(found.head), known));
        const done = found.first('done');
        return data === null ? null : { data, failed: found.head.failed || (done?.failed ?? true) };
      },
    },
  ],
  details: unstakeDetails,
  accounts: unstakeAccounts,
});

export const kinds = [stake, unstake, claim, unstakeRequest];
