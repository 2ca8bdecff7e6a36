/** Multisig v2 (ton-blockchain/multisig-contract-v2). */
import { body } from '../layouts/layout.ts';
import {
  multisigApprove as approveBody,
  multisigExecute as executeBody,
  multisigApproveAccepted,
  multisigApproveRejected,
  multisigNewOrder,
  multisigOrderInit,
} from '../layouts/multisig.ts';
import { bits256, bool, u8, u64, u256, uint } from '../layouts/numbers.ts';
import { cell, maybe, maybeCell } from '../layouts/shapes.ts';
import type { Decimal } from '../model.ts';
import { bagText, destinationOf, messageOf, readBody, sourceOf, tryBody } from './bodies.ts';
import { declare } from './kind.ts';
import { tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

// The order is told as it is: whether the multisig could carry it out is not asked.

const newOrder = body('multisig_new_order', multisigNewOrder.opcode, {
  query_id: u64,
  order_seqno: u256,
  signer: bool,
  index: u8,
  expiration_date: uint(48),
  order: cell,
});

const orderInit = body('multisig_order_init', multisigOrderInit.opcode, {
  query_id: u64,
  threshold: u8,
  signers: maybeCell,
  expiration_date: uint(48),
  order: cell,
  signer_index: maybe(u8),
});

const execute = body('multisig_execute', executeBody.opcode, {
  query_id: u64,
  order_seqno: u256,
  expiration_date: uint(48),
  approvals_num: u8,
  signers_hash: bits256,
  order: cell,
});

interface Ends {
  source: RawAddress | null;
  destination: RawAddress;
  signers: readonly RawAddress[];
}

interface CreateOrder extends Ends {
  queryId: Decimal;
  orderSeqno: Decimal;
  bySigner: boolean;
  approved: boolean;
  creatorIndex: number;
  expirationDate: number;
  order: string;
  destinationOrder: RawAddress;
}

export const multisigCreateOrder = declare<CreateOrder>({
  block: 'multisig_create_order',
  groups: ['v2', 'multisig'],
  leaf: false,
  matchers: [
    {
      rank: 7,
      pattern: { op: newOrder.opcode, child: { op: orderInit.opcode, as: 'init' } },
      read(found, known) {
        const init = found.first('init');
        if (init === null) return null;
        const destinationOrder = destinationOf(init);
        const record = known.multisigOrder(destinationOrder);
        if (record === undefined) return null;
        const asked = readBody(found.head, newOrder);
        const made = readBody(init, orderInit);
        return {
          data: {
            queryId: asked.query_id,
            orderSeqno: asked.order_seqno,
            bySigner: asked.signer,
            approved: made.signer_index !== null,
            creatorIndex: asked.index,
            expirationDate: asked.expiration_date,
            order: bagText(made.order, { crc: false }),
            source: messageOf(found.head).source,
            destination: destinationOf(found.head),
            destinationOrder,
            signers: record.signers,
          },
          // What came back from the order stays apart.
          blocks: [found.head, init],
        };
      },
    },
  ],
  details: (order) => ({
    query_id: order.queryId,
    order_seqno: order.orderSeqno,
    is_created_by_signer: order.bySigner,
    is_signed_by_creator: order.approved,
    creator_index: order.creatorIndex,
    expiration_date: order.expirationDate,
    order_boc: order.order,
    source: order.source,
    destination: order.destination,
    destination_order: order.destinationOrder,
  }),
  accounts: ({ source, destination, destinationOrder, signers }) => ({
    source,
    destination,
    destination2: destinationOrder,
    more: signers,
  }),
});

interface Approve extends Ends {
  signerIndex: number;
  exitCode: number;
}

export const multisigApprove = declare<Approve>({
  block: 'multisig_approve',
  groups: ['v2', 'multisig'],
  leaf: false,
  matchers: [
    {
      rank: 8,
      pattern: {
        where: (block) => block.opcode === approveBody.opcode || tonTransfer.of(block)?.comment().text === 'approve',
        child: {
          any: [
            { op: multisigApproveAccepted.opcode, as: 'accepted' },
            { op: multisigApproveRejected.opcode, as: 'rejected' },
          ],
        },
      },
      read(found, known) {
        const { head } = found;
        const destination = destinationOf(head);
        const record = known.multisigOrder(destination);
        if (record === undefined) return null;
        const accepted = found.first('accepted');
        const rejected = accepted === null ? found.first('rejected') : null;
        // A comment names nobody, and a body that is cut off neither.
        const signerIndex = tryBody(head, approveBody)?.signer_index ?? -1;
        const exitCode = rejected === null ? 0 : readBody(rejected, multisigApproveRejected).exit_code;
        const source = messageOf(head).source;
        return {
          data: { signerIndex, exitCode, source, destination, signers: record.signers },
          failed: rejected !== null,
          blocks: [head, accepted, rejected].filter((block) => block !== null),
        };
      },
    },
  ],
  details: ({ signerIndex, exitCode, source, destination }) => ({
    signer_index: signerIndex,
    exit_code: exitCode,
    source,
    destination,
  }),
  accounts: ({ source, destination, signers }) => ({ source, destination, more: signers }),
});

interface Execute extends Ends {
  queryId: Decimal;
  orderSeqno: Decimal;
  expirationDate: number;
  approvals: number;
  signersHash: string;
  order: string;
}

/** What the order has the multisig send stays apart. */
export const multisigExecute = declare<Execute>({
  block: 'multisig_execute',
  groups: ['v2', 'multisig'],
  leaf: false,
  matchers: [
    {
      rank: 9,
      pattern: { op: execute.opcode },
      read({ head }, known) {
        const source = sourceOf(head);
        const record = known.multisigOrder(source);
        if (record === undefined) return null;
        const asked = readBody(head, execute);
        return {
          data: {
            queryId: asked.query_id,
            orderSeqno: asked.order_seqno,
            expirationDate: asked.expiration_date,
            approvals: asked.approvals_num,
            signersHash: asked.signers_hash.toString('base64'),
            order: bagText(asked.order, { crc: false }),
            source,
            destination: destinationOf(head),
            signers: record.signers,
          },
          failed: head.failed,
        };
      },
    },
  ],
  details: (told) => ({
    query_id: told.queryId,
    order_seqno: told.orderSeqno,
    expiration_date: told.expirationDate,
    approvals_num: told.approvals,
    signers_hash: told.signersHash,
    order_boc: told.order,
    source: told.source,
    destination: told.destination,
  }),
  accounts: ({ source, destination, signers }) => ({ source, destination, more: signers }),
});

export const kinds = [multisigCreateOrder, multisigApprove, multisigExecute];
