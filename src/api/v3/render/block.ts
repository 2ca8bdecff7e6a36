import { shardText } from '../../../chain/address.ts';
import type { BlockRecord } from '../../../chain/records.ts';
import { blockIdJson, hashJson } from './values.ts';

/** JSON text of a block (schema `Block`). */
export function blockJson({ header: h, mcSeqno, createdBy, randSeed, txCount }: BlockRecord): string {
  return (
    `{"workchain":${h.workchain},"shard":"${shardText(h.shard)}","seqno":${h.seqno}` +
    `,"root_hash":${hashJson(h.rootHash)},"file_hash":${hashJson(h.fileHash)}` +
    `,"global_id":${h.globalId},"version":${h.version}` +
    `,"after_merge":${h.afterMerge},"before_split":${h.beforeSplit},"after_split":${h.afterSplit}` +
    `,"want_merge":${h.wantMerge},"want_split":${h.wantSplit},"key_block":${h.keyBlock}` +
    `,"vert_seqno_incr":${h.vertSeqnoIncr},"flags":${h.flags},"gen_utime":"${h.genUtime}"` +
    `,"start_lt":"${h.startLt}","end_lt":"${h.endLt}"` +
    `,"validator_list_hash_short":${h.validatorListHashShort | 0},"gen_catchain_seqno":${h.catchainSeqno}` +
    `,"min_ref_mc_seqno":${h.minRefMcSeqno},"prev_key_block_seqno":${h.prevKeyBlockSeqno}` +
    `,"vert_seqno":${h.vertSeqno},"master_ref_seqno":${h.masterRef?.seqno ?? 0}` +
    `,"rand_seed":${hashJson(randSeed)},"created_by":${hashJson(createdBy)},"tx_count":${txCount}` +
    `,"masterchain_block_ref":{"workchain":-1,"shard":"8000000000000000","seqno":${mcSeqno}}` +
    `,"prev_blocks":[${h.prev.map(blockIdJson).join(',')}]}`
  );
}

/** JSON text of `BlocksResponse` without its closing brace's extras. */
export function blocksJson(records: readonly BlockRecord[], extras = ''): string {
  return `{"blocks":[${records.map(blockJson).join(',')}]${extras}}`;
}
