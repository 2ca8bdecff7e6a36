/** Multisig v2 (ton-blockchain/multisig-contract-v2). */
import { internalAddress } from './addresses.ts';
import { dictionary, hashmap } from './dictionaries.ts';
import { body } from './layout.ts';
import { relaxedMessage } from './messages.ts';
import { bits256, bool, u8, u32, u64, u256, uint } from './numbers.ts';
import { maybe, record, ref, union, unnamed, variant } from './shapes.ts';

/** What an order does, one entry of it. */
export const multisigAction = union(
  'MultisigAction',
  variant('send_message', 32, 0xf1381e5b, { mode: u8, message: ref(relaxedMessage) }),
  variant('update_multisig_param', 32, 0x1d0cfbd3, {
    threshold: u8,
    signers: ref(hashmap(8, internalAddress)),
    proposers: dictionary(8, internalAddress),
  }),
);

/** The actions of an order by their index. An order has at least one. */
export const multisigOrder = record(null, { actions: unnamed(hashmap(8, ref(multisigAction))) });

export const multisigNewOrder = body('mulisig_new_order', 0xf718510f, {
  query_id: u64,
  order_seqno: u256,
  signer: bool,
  index: u8,
  expiration_date: uint(48),
  order: ref(multisigOrder),
});

export const multisigOrderInit = body('multisig_order_init', 0x9c73fba2, {
  query_id: u64,
  threshold: u8,
  signers: ref(hashmap(8, internalAddress)),
  expiration_date: uint(48),
  order: ref(multisigOrder),
  signer_index: maybe(u8),
});

export const multisigApprove = body('multisig_approve', 0xa762230f, { query_id: u64, signer_index: u8 });
export const multisigApproveAccepted = body('multisig_approve_accepted', 0x82609bf6, { query_id: u64 });
export const multisigApproveRejected = body('multisig_approve_rejected', 0xafaf283e, {
  query_id: u64,
  exit_code: u32,
});

export const multisigExecute = body('multisig_execute', 0x75097f5d, {
  query_id: u64,
  order_seqno: u256,
  expiration_date: uint(48),
  approvals_num: u8,
  signers_hash: bits256,
  order: ref(multisigOrder),
});

export const multisigExecuteInternal = body('multisig_execute_internal', 0xa32c59bf, {
  query_id: u64,
  order: ref(multisigOrder),
});

export const multisigBodies = [
  multisigNewOrder,
  multisigOrderInit,
  multisigApprove,
  multisigApproveAccepted,
  multisigApproveRejected,
  multisigExecute,
  multisigExecuteInternal,
];
