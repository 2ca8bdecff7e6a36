/** Jettons: TEP-74, and the minters of TEP-89's reference and of the governed jettons. */
import { rawAddress } from '../address.ts';
import type { Cursor } from '../cursor.ts';
import { address, addressOrNone, placedAddress } from '../layouts/addresses.ts';
import type { CellView } from '../layouts/cell-view.ts';
import {
  jettonBurn as burnBody,
  jettonMint as governedMint,
  jettonBurnNotification,
  jettonInternalTransfer,
  jettonInternalTransferWithoutEither,
  jettonNotify,
  minterJettonMint,
  jettonTransfer as transferBody,
} from '../layouts/jettons.ts';
import { body } from '../layouts/layout.ts';
import { coins, amount as tokens, u32, u64 } from '../layouts/numbers.ts';
import { cell, maybeCell, payload, record } from '../layouts/shapes.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, bagText, destinationOf, messageOf, readBody, tryBody } from './bodies.ts';
import { payloadComment } from './comment.ts';
import { declare, type Reading } from './kind.ts';
import type { Asset, KnownContracts } from './known.ts';
import type { Match } from './pattern.ts';
import type { RawAddress } from './trace.ts';

/** Masters of pTON, by which exchanges handle TON like a jetton. */
const PTON_MASTERS: ReadonlySet<RawAddress> = new Set([
  '0:8CDC1D7640AD5EE326527FC1AD0514F468B30DC84B0173F0E155F451B4E11F7C',
  '0:671963027F7F85659AB55B821671688601CDCF1EE674FC7FBBB1A776A18D34A3',
  '0:949C4C66760C002800E2FA3D8A3CA4E1C90A9373B53AE7472033483BF14CD95E',
]);

function isPton(master: RawAddress): boolean {
  return PTON_MASTERS.has(master);
}

/** TON in the place of a pTON master. */
export function tonOr(master: RawAddress | null): Asset {
  return master !== null && isPton(master) ? null : master;
}

export interface JettonTransfer {
  /** Null when the sender's wallet is not known either. */
  asset: RawAddress | null;
  sender: RawAddress | null;
  receiver: RawAddress | null;
  /** Null for pTON. */
  senderWallet: RawAddress | null;
  /** Null for pTON, and when nothing was sent. */
  receiverWallet: RawAddress | null;
  amount: Decimal;
  queryId: Decimal;
  responseDestination: RawAddress | null;
  customPayload: CellView | null;
  forwardPayload: CellView | null;
  forwardAmount: Decimal;
  /** Whether the tokens went from wallet to wallet. */
  hasInternal: boolean;
}

export const jettonTransfer = declare<JettonTransfer>({
  block: 'jetton_transfer',
  groups: ['v1', 'jettons'],
  leaf: true,
  matchers: [
    {
      rank: 15,
      pattern: {
        op: transferBody.opcode,
        child: {
          op: jettonInternalTransfer.opcode,
          as: 'internal',
          child: { op: jettonNotify.opcode, optional: true },
        },
      },
      read: readTransfer,
    },
    {
      rank: 16,
      pattern: { op: transferBody.opcode, child: { op: jettonNotify.opcode, optional: true } },
      read: readPtonTransfer,
    },
    { rank: 15, ghosts: true, pattern: { op: transferBody.opcode }, read: readUnsentTransfer },
  ],
  details(transfer) {
    const { customPayload, forwardPayload } = transfer;
    const comment = payloadComment(forwardPayload);
    return {
      asset: transfer.asset,
      sender: transfer.sender,
      receiver: transfer.receiver,
      sender_jetton_wallet: transfer.senderWallet,
      receiver_jetton_wallet: transfer.receiverWallet,
      amount: transfer.amount,
      comment: comment.text,
      is_encrypted_comment: comment.encrypted,
      query_id: transfer.queryId,
      response_destination: transfer.responseDestination,
      custom_payload: customPayload === null ? null : bagText(customPayload, { crc: true }),
      forward_payload: forwardPayload === null ? null : bagText(forwardPayload, { crc: true }),
      forward_amount: transfer.forwardAmount,
    };
  },
  accounts: (transfer) => ({
    source: transfer.sender,
    source2: transfer.senderWallet,
    destination: transfer.receiver,
    destination2: transfer.receiverWallet,
  }),
});

/**
 * The fields before the payload: some senders leave that out, and some wallets take it for none. External addresses are
 * refused, as by the reference.
 */
export const transferHead = body('jetton_transfer', transferBody.opcode, {
  query_id: u64,
  amount: tokens,
  destination: addressOrNone,
  response_destination: addressOrNone,
  custom_payload: maybeCell,
  forward_ton_amount: tokens,
});

/** The payload at the end of a body. One without bits is none, whatever it refers to. */
function payloadLeft(cursor: Cursor): CellView | null {
  if (cursor.bitsLeft === 0) return null;
  const { cell } = payload.read(cursor);
  return cell.bits === 0 ? null : cell;
}

/** What the request says. */
function requested(found: Match) {
  const cursor = messageOf(found.head).body().cursor();
  const request = transferHead.read(cursor);
  return {
    sender: messageOf(found.head).source,
    receiver: addressText(request.destination),
    senderWallet: messageOf(found.head).destination,
    amount: request.amount,
    queryId: request.query_id,
    responseDestination: addressText(request.response_destination),
    customPayload: request.custom_payload,
    forwardPayload: payloadLeft(cursor),
    forwardAmount: request.forward_ton_amount,
  };
}

function readTransfer(found: Match, known: KnownContracts): Reading<JettonTransfer> | null {
  const internal = found.first('internal');
  if (internal === null) return null;
  const receiverWallet = destinationOf(internal);
  const wallet = known.jettonWallet(receiverWallet);
  if (wallet === undefined) return null;
  const request = requested(found);
  // No wallet of the standard sends to nobody: the reference takes that for a call.
  if (request.receiver === null) return null;
  const sent = arrived(internal);
  return {
    data: {
      ...request,
      asset: wallet.jetton,
      // The destination of the request may differ: the wallet's owner is who has the tokens.
      receiver: wallet.owner,
      receiverWallet,
      amount: sent?.amount ?? request.amount,
      forwardAmount: sent?.forward_ton_amount ?? request.forwardAmount,
      hasInternal: true,
    },
    failed: found.head.failed || internal.failed,
  };
}

function readPtonTransfer(found: Match, known: KnownContracts): Reading<JettonTransfer> | null {
  const wallet = known.jettonWallet(destinationOf(found.head));
  if (wallet === undefined || !isPton(wallet.jetton)) return null;
  return {
    data: { ...requested(found), asset: wallet.jetton, senderWallet: null, receiverWallet: null, hasInternal: false },
    failed: found.head.failed,
  };
}

function readUnsentTransfer(found: Match, known: KnownContracts): Reading<JettonTransfer> {
  const request = requested(found);
  const asset = known.jettonWallet(destinationOf(found.head))?.jetton ?? null;
  return { data: { ...request, asset, receiverWallet: null, hasInternal: false }, failed: found.head.failed };
}

/** The fields before the custom payload, which wallets do not ask for. */
export const burnHead = body('jetton_burn', burnBody.opcode, {
  query_id: u64,
  amount: tokens,
  response_destination: address,
});

export interface JettonBurn {
  owner: RawAddress;
  wallet: RawAddress;
  asset: RawAddress;
  amount: Decimal;
}

export const jettonBurn = declare<JettonBurn>({
  block: 'jetton_burn',
  groups: ['v1', 'jettons'],
  leaf: true,
  matchers: [
    {
      rank: 18,
      pattern: { op: burnBody.opcode, child: { op: jettonBurnNotification.opcode, optional: true } },
      read({ head }, known) {
        const wallet = destinationOf(head);
        const record = known.jettonWallet(wallet);
        if (record === undefined) return null;
        const { amount } = readBody(head, burnHead);
        return { data: { owner: record.owner, wallet, asset: record.jetton, amount }, failed: head.failed };
      },
    },
  ],
  details: ({ owner, wallet, asset, amount }) => ({ owner, owner_jetton_wallet: wallet, asset, amount }),
  accounts: ({ owner, wallet }) => ({ source: owner, source2: wallet }),
});

export interface JettonMint {
  asset: RawAddress;
  receiver: RawAddress | null;
  /** Null when nothing arrived in a wallet. */
  receiverWallet: RawAddress | null;
  amount: Decimal | null;
  tonAmount: Decimal;
}

/** Minters of other makes use the opcodes, too, with no address or an external one where the receiver is named. */
const mintFields = { query_id: u64, to_address: placedAddress, ton_amount: coins };
const mintBody = body('jetton_mint', governedMint.opcode, mintFields);
const orderBody = body('minter_jetton_mint', minterJettonMint.opcode, { ...mintFields, master_msg: cell });

export const jettonMint = declare<JettonMint>({
  block: 'jetton_mint',
  groups: ['v1', 'jettons'],
  leaf: true,
  matchers: [
    {
      rank: 44,
      pattern: {
        op: [mintBody.opcode, orderBody.opcode],
        child: {
          any: [
            { op: jettonNotify.opcode },
            { op: jettonInternalTransfer.opcode, as: 'internal', child: { op: jettonNotify.opcode, optional: true } },
          ],
          optional: true,
        },
      },
      read: readMint,
    },
  ],
  details: ({ asset, receiver, receiverWallet, amount, tonAmount }) => ({
    asset,
    receiver,
    receiver_jetton_wallet: receiverWallet,
    amount,
    ton_amount: tonAmount,
  }),
  accounts: ({ receiver, receiverWallet }) => ({ destination: receiver, destination2: receiverWallet }),
});

/** The fields before the addresses of what the reference minter was to send on: what has other ones there is no mint. */
const orderedHead = record('jetton_internal_transfer', { opcode: u32, query_id: u64, amount: tokens });

function readMint(found: Match, known: KnownContracts): Reading<JettonMint> | null {
  const { head } = found;
  const ofReference = head.opcode === orderBody.opcode ? readBody(head, orderBody) : null;
  const amount = ofReference === null ? null : orderedHead.read(ofReference.master_msg.cursor()).amount;
  const { to_address, ton_amount: tonAmount } = ofReference ?? readBody(head, mintBody);
  const internal = found.first('internal');
  if (internal !== null && !head.failed) {
    const receiverWallet = destinationOf(internal);
    const record = known.jettonWallet(receiverWallet);
    if (record === undefined) return null;
    const sent = arrived(internal);
    if (sent === null) return null;
    const data = { asset: record.jetton, receiver: record.owner, receiverWallet, amount: sent.amount, tonAmount };
    return { data, failed: internal.failed };
  }
  // Nothing else names the receiver of what did not arrive.
  if (to_address === 'addr_extern') return null;
  const receiver = to_address === 'addr_none' ? null : rawAddress(to_address);
  const asset = destinationOf(head);
  return { data: { asset, receiver, receiverWallet: null, amount, tonAmount }, failed: true };
}

/** What a wallet was sent, null when the body cannot be read. Some wallets leave out where the payload stands. */
export function arrived(internal: Block) {
  return tryBody(internal, jettonInternalTransfer) ?? tryBody(internal, jettonInternalTransferWithoutEither);
}

export const kinds = [jettonTransfer, jettonBurn, jettonMint];
