/** Supplies to EVAA and withdrawals from it, lending (evaafi/contracts). */
import { address } from '../layouts/addresses.ts';
import { evaaOps } from '../layouts/evaa.ts';
import { body } from '../layouts/layout.ts';
import { u64, u256, uint } from '../layouts/numbers.ts';
import { record } from '../layouts/shapes.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, destinationOf, messageOf, readBody } from './bodies.ts';
import { groups, headed, hex256, payloadOf, request, TON_ASSET, thanks, userCall } from './evaa-messages.ts';
import { type JettonTransfer, jettonTransfer } from './jettons.ts';
import { declare } from './kind.ts';
import type { Match } from './pattern.ts';
import { tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

// Of each body what is told, and nothing behind it, where its forms differ.

const assetOfUser = record(null, { query_id: u64, asset_id: u256 });

const supplyBody = body('evaa_supply_master', evaaOps.supplyMaster, {
  query_id: u64,
  include_user_code: uint(2),
  amount: u64,
  recipient: address,
});
const supplyPayload = record(null, { include_user_code: uint(2), recipient: address });
const suppliedBody = body('evaa_supply_success', evaaOps.supplySuccess, {
  query_id: u64,
  owner: address,
  asset_id: u256,
  amount: u64,
});

interface Supply {
  source: RawAddress | null;
  wallet: RawAddress | null;
  recipient: RawAddress | null;
  recipientWallet: RawAddress | null;
  recipientContract: RawAddress;
  master: RawAddress | null;
  masterWallet: RawAddress | null;
  assetId: string;
  isTon: boolean;
  asset: RawAddress | null;
  amount: Decimal;
}

/** Who supplies what, as the request says. */
function supplyRequest(head: Block) {
  const transfer = jettonTransfer.of(head);
  const payload = payloadOf(transfer, evaaOps.supplyMaster);
  if (transfer !== null && payload !== null) {
    const { recipient } = supplyPayload.read(payload);
    return {
      source: transfer.sender,
      wallet: transfer.senderWallet,
      recipient: addressText(recipient),
      master: transfer.receiver,
      masterWallet: transfer.receiverWallet,
      isTon: false,
      asset: transfer.asset,
      amount: transfer.amount,
    };
  }
  const { amount, recipient } = readBody(head, supplyBody);
  return {
    source: messageOf(head).source,
    wallet: null,
    recipient: addressText(recipient),
    master: destinationOf(head),
    masterWallet: null,
    isTon: true,
    asset: null,
    amount,
  };
}

const supply = declare<Supply>({
  block: 'evaa_supply',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 52,
      pattern: request(
        evaaOps.supplyMaster,
        userCall(evaaOps.supplyUser, {
          as: 'user',
          child: {
            any: [
              { op: evaaOps.supplySuccess, as: 'supplied', child: thanks },
              { op: evaaOps.supplyFail },
              { block: jettonTransfer.block },
            ],
          },
        }),
      ),
      read(found) {
        const user = found.first('user');
        const body = user && headed(user, evaaOps.supplyUser);
        if (user === null || body === null) return null;
        const asked = supplyRequest(found.head);
        const supplied = found.first('supplied');
        return {
          data: {
            ...asked,
            recipientContract: destinationOf(user),
            recipientWallet: asked.source === asked.recipient ? asked.wallet : walletFrom(found, asked.masterWallet),
            assetId: hex256(assetOfUser.read(body).asset_id),
            amount: supplied === null ? asked.amount : readBody(supplied, suppliedBody).amount,
          },
          failed: supplied === null,
        };
      },
    },
  ],
  details: (told) => ({
    sender_jetton_wallet: null,
    recipient_jetton_wallet: told.recipientWallet,
    master_jetton_wallet: told.masterWallet,
    master: told.master,
    asset_id: told.assetId,
    is_ton: told.isTon,
    source: told.source,
    source_wallet: told.wallet,
    recipient: told.recipient,
    recipient_contract: told.recipientContract,
    asset: told.asset,
    amount: told.amount,
  }),
  accounts: ({ source, wallet, recipient, recipientContract }) => ({
    source,
    source2: wallet,
    destination: recipient,
    destination2: recipientContract,
  }),
});

/** Where a transfer out of the master's wallet went. */
function walletFrom(found: Match, masterWallet: RawAddress | null): RawAddress | null {
  for (const block of found.all()) {
    const transfer = jettonTransfer.of(block);
    if (transfer !== null && masterWallet !== null && transfer.senderWallet === masterWallet) {
      return transfer.receiverWallet;
    }
  }
  return null;
}

const withdrawBody = body('evaa_withdraw_master', evaaOps.withdrawMaster, {
  query_id: u64,
  asset_id: u256,
  amount: u64,
  recipient: address,
});
const withdrawnBody = body('evaa_withdraw_collateralized', evaaOps.withdrawCollateralized, {
  query_id: u64,
  owner: address,
  asset_id: u256,
  amount: u64,
});

/** Refusals of a user's contract, each with its name. */
const REFUSALS: ReadonlyMap<number | null, string> = new Map([
  [evaaOps.withdrawLocked, 'withdraw_locked_excess'],
  [evaaOps.withdrawNotCollateralized, 'withdraw_not_collateralized_excess'],
  [evaaOps.withdrawMissingPrices, 'withdraw_missing_prices_excess'],
  [evaaOps.withdrawCrashed, 'withdraw_execution_crashed'],
]);

interface Withdraw {
  source: RawAddress | null;
  master: RawAddress;
  recipient: RawAddress | null;
  owner: RawAddress;
  assetId: string;
  amount: Decimal;
  paid: JettonTransfer | null;
  failReason: string | null;
}

const withdraw = declare<Withdraw>({
  block: 'evaa_withdraw',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 53,
      pattern: {
        op: evaaOps.withdrawMaster,
        child: userCall(evaaOps.withdrawUser, {
          as: 'user',
          child: {
            any: [
              {
                op: evaaOps.withdrawCollateralized,
                as: 'withdrawn',
                children: [
                  {
                    any: [
                      { op: evaaOps.withdrawSuccess, child: thanks },
                      { block: jettonTransfer.block, as: 'paid' },
                    ],
                  },
                  userCall(evaaOps.withdrawSuccess, { child: { block: tonTransfer.block } }),
                ],
              },
              {
                op: evaaOps.withdrawCollateralized,
                child: userCall(evaaOps.withdrawFail, { child: { op: evaaOps.withdrawNoFunds, as: 'none' } }),
              },
              ...[...REFUSALS.keys()].flatMap((op) => (op === null ? [] : [{ op, as: 'refused' }])),
            ],
          },
        }),
      },
      read(found) {
        const user = found.first('user');
        if (user === null) return null;
        const asked = readBody(found.head, withdrawBody);
        const withdrawn = found.first('withdrawn');
        const assetId = hex256(asked.asset_id);
        const paid = jettonTransfer.of(found.first('paid'));
        // TON is paid in TON, jettons in jettons.
        if (withdrawn !== null && (assetId === TON_ASSET) !== (paid === null)) return null;
        return {
          data: {
            source: messageOf(found.head).source,
            master: destinationOf(found.head),
            recipient: addressText(asked.recipient),
            owner: destinationOf(user),
            assetId,
            amount: withdrawn === null ? asked.amount : readBody(withdrawn, withdrawnBody).amount,
            paid,
            failReason: withdrawn === null ? refusal(found) : null,
          },
          failed: withdrawn === null,
        };
      },
    },
  ],
  details: (told) => ({
    recipient_jetton_wallet: told.paid?.receiverWallet ?? null,
    master_jetton_wallet: told.paid?.senderWallet ?? null,
    master: told.master,
    fail_reason: told.failReason,
    asset_id: told.assetId,
    source: told.source,
    recipient: told.recipient,
    owner_contract: told.owner,
    asset: told.paid?.asset ?? null,
    amount: told.amount,
  }),
  accounts: ({ source, recipient, owner }) => ({ source, destination: recipient, destination2: owner }),
});

function refusal(found: Match): string | null {
  if (found.first('none') !== null) return 'withdraw_no_funds_excess';
  return REFUSALS.get(found.first('refused')?.opcode ?? null) ?? null;
}

export const kinds = [supply, withdraw];
