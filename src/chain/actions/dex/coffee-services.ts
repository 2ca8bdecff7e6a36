/** swap.coffee: protection against front-running, and staking. */
import { address } from '../../layouts/addresses.ts';
import {
  coffeeMevFailedSwap,
  coffeeStakingClaim,
  coffeeStakingDeposit,
  coffeeMevHoldFunds as holdFundsBody,
} from '../../layouts/dex/coffee.ts';
import { body } from '../../layouts/layout.ts';
import { coins, u64 } from '../../layouts/numbers.ts';
import type { Decimal } from '../../model.ts';
import { addressText, destinationOf, messageOf, readBody, sentValue, sourceOf } from '../bodies.ts';
import { jettonTransfer } from '../jettons.ts';
import { declare } from '../kind.ts';
import type { Asset } from '../known.ts';
import { nftMint } from '../nfts.ts';
import type { Pattern } from '../pattern.ts';
import type { RawAddress } from '../trace.ts';

const MEV_REQUEST = 0xc0ffeea0;
const STAKING_WITHDRAW = 0xcb03bfaf;

/** A jetton transfer whose payload has this opcode. */
function transferWith(payload: number): Pattern {
  return {
    block: jettonTransfer.block,
    where: (block) => jettonTransfer.of(block)?.forwardPayload?.opcode === payload,
  };
}

interface HoldFunds {
  source: RawAddress | null;
  wallet: RawAddress | null;
  contract: RawAddress | null;
  asset: Asset;
  amount: Decimal;
}

const besideRequest: Pattern = { child: { op: MEV_REQUEST }, optional: true };

export const coffeeMevHoldFunds = declare<HoldFunds>({
  block: 'coffee_mev_protect_hold_funds',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 71,
      pattern: {
        any: [
          { op: holdFundsBody.opcode, parent: besideRequest },
          { ...transferWith(holdFundsBody.opcode), parent: besideRequest },
        ],
      },
      read({ head }) {
        const transfer = jettonTransfer.of(head);
        if (transfer !== null) {
          const { sender: source, senderWallet: wallet, receiver: contract, asset, amount } = transfer;
          return { data: { source, wallet, contract, asset, amount } };
        }
        const { source, destination: contract } = messageOf(head);
        return { data: { source, wallet: null, contract, asset: null, amount: sentValue(head) } };
      },
    },
  ],
  details: ({ source, wallet, contract, asset, amount }) => ({
    source,
    source_jetton_wallet: wallet,
    mev_contract: contract,
    mev_contract_jetton_wallet: null,
    asset,
    amount,
  }),
  accounts: ({ source, wallet, contract }) => ({ source, source2: wallet, destination: contract }),
});

/** The API has no details for it. */
export const coffeeMevFailed = declare<{ recipient: RawAddress | null }>({
  block: 'coffee_mev_protect_failed_swap',
  groups: ['v2'],
  leaf: false,
  matchers: [
    {
      rank: 72,
      pattern: { any: [{ op: coffeeMevFailedSwap.opcode }, transferWith(coffeeMevFailedSwap.opcode)] },
      read({ head }) {
        const payload = jettonTransfer.of(head)?.forwardPayload ?? null;
        const fields = payload === null ? readBody(head, coffeeMevFailedSwap) : coffeeMevFailedSwap.in(payload);
        return fields === null ? null : { data: { recipient: addressText(fields.recipient) } };
      },
    },
  ],
  details: () => ({ error: "unsupported action type: 'coffee_mev_protect_failed_swap'" }),
  accounts: ({ recipient }) => ({ destination: recipient }),
});

interface Stake {
  source: RawAddress | null;
  wallet: RawAddress | null;
  pool: RawAddress;
  poolWallet: RawAddress | null;
  asset: Asset;
  amount: Decimal;
  item: RawAddress;
  index: Decimal | null;
}

const stakeAccounts = ({ source, wallet, pool, poolWallet }: Stake) => ({
  source,
  source2: wallet,
  destination: pool,
  destination2: poolWallet,
});

/** Excesses are not part of any of the three. */
const withoutReturns = { returns: false };

export const coffeeStake = declare<Stake>({
  block: 'coffee_staking_deposit',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 73,
      pattern: {
        block: jettonTransfer.block,
        child: {
          op: coffeeStakingDeposit.opcode,
          as: 'stake',
          children: [
            { op: coffeeStakingDeposit.opcode, optional: true, ...withoutReturns },
            { block: nftMint.block, as: 'minted', ...withoutReturns },
          ],
          ...withoutReturns,
        },
      },
      read(found) {
        const transfer = jettonTransfer.of(found.head);
        const stake = found.first('stake');
        const minted = nftMint.of(found.first('minted'));
        if (transfer === null || stake === null || minted === null) return null;
        return {
          data: {
            source: transfer.sender,
            wallet: transfer.senderWallet,
            pool: destinationOf(stake),
            poolWallet: transfer.receiverWallet,
            asset: transfer.asset,
            amount: transfer.amount,
            item: minted.item.address,
            index: minted.item.index,
          },
        };
      },
    },
  ],
  details: ({ source, wallet, pool, poolWallet, asset, amount, item, index }) => ({
    source,
    source_jetton_wallet: wallet,
    pool,
    pool_jetton_wallet: poolWallet,
    asset,
    amount,
    minted_item_address: item,
    minted_item_index: index,
  }),
  accounts: stakeAccounts,
});

const ofPosition = body('coffee_staking_withdraw', STAKING_WITHDRAW, {
  query_id: u64,
  nft_id: u64,
  owner: address,
  points: coins,
});

const ofVault = body('coffee_staking_withdraw', STAKING_WITHDRAW, {
  query_id: u64,
  jetton_wallet: address,
  amount: coins,
});

export const coffeeUnstake = declare<Stake & { points: Decimal }>({
  block: 'coffee_staking_withdraw',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 74,
      pattern: {
        op: STAKING_WITHDRAW,
        child: {
          op: STAKING_WITHDRAW,
          as: 'position',
          children: [
            {
              op: STAKING_WITHDRAW,
              as: 'vault',
              child: { block: jettonTransfer.block, as: 'out', ...withoutReturns },
              ...withoutReturns,
            },
            { op: STAKING_WITHDRAW, optional: true, ...withoutReturns },
          ],
          ...withoutReturns,
        },
      },
      read(found) {
        const position = found.first('position');
        const vault = found.first('vault');
        const out = jettonTransfer.of(found.first('out'));
        if (position === null || vault === null || out === null) return null;
        const { nft_id, owner, points } = readBody(position, ofPosition);
        const { jetton_wallet, amount } = readBody(vault, ofVault);
        return {
          data: {
            source: addressText(owner),
            wallet: out.receiverWallet,
            pool: sourceOf(position),
            poolWallet: addressText(jetton_wallet),
            asset: out.asset,
            amount,
            item: destinationOf(found.head),
            index: nft_id,
            points,
          },
        };
      },
    },
  ],
  details: ({ source, wallet, pool, poolWallet, asset, amount, item, index, points }) => ({
    source,
    source_jetton_wallet: wallet,
    pool,
    pool_jetton_wallet: poolWallet,
    asset,
    amount,
    nft_address: item,
    nft_index: index,
    points,
  }),
  accounts: stakeAccounts,
});

interface Claim {
  pool: RawAddress;
  poolWallet: RawAddress | null;
  recipient: RawAddress | null;
  recipientWallet: RawAddress | null;
  asset: Asset;
  amount: Decimal;
}

/** Up to who gets it; what goes with the jettons is not told. */
const claim = body('coffee_staking_claim_rewards', coffeeStakingClaim.opcode, {
  query_id: u64,
  jetton_wallet: address,
  amount: coins,
  receiver: address,
});

export const coffeeClaim = declare<Claim>({
  block: 'coffee_staking_claim_rewards',
  groups: ['v2', 'coffee'],
  leaf: false,
  matchers: [
    {
      rank: 75,
      pattern: {
        op: claim.opcode,
        children: [
          { block: jettonTransfer.block, as: 'out', ...withoutReturns },
          { op: claim.opcode, optional: true, ...withoutReturns },
        ],
      },
      read(found) {
        const out = jettonTransfer.of(found.first('out'));
        if (out === null) return null;
        const { jetton_wallet, amount, receiver } = readBody(found.head, claim);
        return {
          data: {
            pool: destinationOf(found.head),
            poolWallet: addressText(jetton_wallet),
            recipient: addressText(receiver),
            recipientWallet: out.receiverWallet,
            asset: out.asset,
            amount,
          },
        };
      },
    },
  ],
  details: ({ pool, poolWallet, recipient, recipientWallet, asset, amount }) => ({
    pool,
    pool_jetton_wallet: poolWallet,
    recipient,
    recipient_jetton_wallet: recipientWallet,
    asset,
    amount,
  }),
  accounts: ({ pool, poolWallet, recipient, recipientWallet }) => ({
    source: pool,
    source2: poolWallet,
    destination: recipient,
    destination2: recipientWallet,
  }),
});

export const kinds = [coffeeMevHoldFunds, coffeeMevFailed, coffeeStake, coffeeUnstake, coffeeClaim];
