/** Blocks as v2 shows them. */

import { rawAddress } from '../../../chain/address.ts';
import type { BlockHeader } from '../../../chain/model.ts';
import type { TransactionRecord } from '../../../chain/records.ts';
import { base64, blockId, signed64 } from './values.ts';

/** `blocks.header`. */
export function blockHeader(header: BlockHeader) {
  return {
    '@type': 'blocks.header',
    id: blockId(header),
    global_id: header.globalId,
    version: header.version,
    flags: header.flags,
    after_merge: header.afterMerge,
    after_split: header.afterSplit,
    before_split: header.beforeSplit,
    want_merge: header.wantMerge,
    want_split: header.wantSplit,
    validator_list_hash_short: header.validatorListHashShort | 0,
    catchain_seqno: header.catchainSeqno,
    min_ref_mc_seqno: header.minRefMcSeqno,
    is_key_block: header.keyBlock,
    prev_key_block_seqno: header.workchain === -1 ? header.prevKeyBlockSeqno : 0,
    start_lt: signed64(header.startLt),
    end_lt: signed64(header.endLt),
    gen_utime: header.genUtime,
    vert_seqno: header.vertSeqno,
    prev_blocks: header.prev.map(blockId),
  };
}

/** Bits of a node's answer: account, lt and hash are there (7), and the list began behind some entry (128). */
const SHORT_ID_MODE = 135;

/** `blocks.shortTxId`. */
export function shortTransactionId({ transaction }: TransactionRecord) {
  return {
    '@type': 'blocks.shortTxId',
    mode: SHORT_ID_MODE,
    account: rawAddress(transaction.account).toLowerCase(),
    lt: signed64(transaction.lt),
    hash: base64(transaction.hash),
  };
}
