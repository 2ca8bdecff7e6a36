/** Rows of answers as they must be by the facts: names and printing as in the contract (endpoints 1.7, semantics 2). */
import { base64, internalAddress, type KnownBlock, type KnownTransaction, type MessageFacts } from './network.ts';

type Json = Record<string, unknown>;

/** From this global version on the header field of `ihr_fee` holds `extra_flags`. */
const EXTRA_FLAGS_VERSION = 12;

/** Without the keys whose value is null or undefined. */
function present(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));
}

const status = (fact: string): string => (fact === 'non_exist' ? 'nonexist' : fact);
const shardText = (shard: string): string => shard.replace(/^0+/, '').toUpperCase();
const MASTERCHAIN_SHARD = '8000000000000000';

export function blockAnswer({ facts, mcSeqno, txCount }: KnownBlock): Json {
  const { workchain, shard, seqno } = facts;
  return {
    workchain,
    shard: shardText(shard),
    seqno,
    root_hash: base64(facts.root_hash),
    file_hash: base64(facts.file_hash),
    global_id: facts.global_id,
    version: facts.version,
    after_merge: facts.after_merge,
    before_split: facts.before_split,
    after_split: facts.after_split,
    want_merge: facts.want_merge,
    want_split: facts.want_split,
    key_block: facts.key_block,
    vert_seqno_incr: facts.vert_seqno_incr,
    flags: facts.flags,
    gen_utime: String(facts.gen_utime),
    start_lt: facts.start_lt,
    end_lt: facts.end_lt,
    validator_list_hash_short: expect32(facts.gen_validator_list_hash_short),
    gen_catchain_seqno: facts.gen_catchain_seqno,
    min_ref_mc_seqno: facts.min_ref_mc_seqno,
    prev_key_block_seqno: facts.prev_key_block_seqno,
    vert_seqno: facts.vert_seqno,
    master_ref_seqno: facts.master_ref?.seqno ?? 0,
    rand_seed: base64(facts.rand_seed),
    created_by: base64(facts.created_by),
    tx_count: txCount,
    masterchain_block_ref: { workchain: -1, shard: MASTERCHAIN_SHARD, seqno: mcSeqno },
  };
}

/** The reference prints this unsigned field as a signed 32-bit number. */
function expect32(value: number): number {
  return value | 0;
}

export function blockIdAnswer({ facts }: KnownBlock): Json {
  return { workchain: facts.workchain, shard: shardText(facts.shard), seqno: facts.seqno };
}

/** Every field of a transaction that the facts show. */
export function transactionAnswer({ facts, block, account }: KnownTransaction): Json {
  const version = block.facts.gen_software?.version ?? 0;
  const outMessages = [...facts.out_msgs].sort((a, b) => Number(BigInt(a.created_lt ?? 0) - BigInt(b.created_lt ?? 0)));
  return {
    account,
    hash: base64(facts.hash),
    lt: facts.lt,
    now: facts.now,
    mc_block_seqno: block.mcSeqno,
    prev_trans_hash: base64(facts.prev_trans_hash),
    prev_trans_lt: facts.prev_trans_lt,
    orig_status: status(facts.orig_status),
    end_status: status(facts.end_status),
    total_fees: facts.total_fees.grams,
    total_fees_extra_currencies: facts.total_fees.extra ?? {},
    block_ref: blockIdAnswer(block),
    in_msg: facts.in_msg && messageAnswer(facts.in_msg, version),
    out_msgs: outMessages.map((message) => messageAnswer(message, version)),
    account_state_before: { hash: base64(facts.old_hash) },
    account_state_after: { hash: base64(facts.new_hash) },
    emulated: false,
    finality: 'finalized',
  };
}

/** The whole description, to be compared for equality: a phase stands there exactly when the transaction has it. */
export function descriptionAnswer({ facts: { descr } }: KnownTransaction): Json {
  const { storage_ph: storage, credit_ph: credit } = descr;
  return present({
    type: descr.type,
    aborted: descr.aborted,
    destroyed: descr.destroyed,
    credit_first: descr.credit_first,
    is_tock: descr.is_tock,
    storage_ph:
      storage &&
      present({
        storage_fees_collected: storage.collected,
        storage_fees_due: storage.due,
        status_change: storage.status_change,
      }),
    credit_ph:
      credit &&
      present({
        due_fees_collected: credit.due_fees_collected,
        credit: credit.credit.grams,
        credit_extra_currencies: credit.credit.extra,
      }),
    compute_ph: computeAnswer(descr.compute_ph),
    action: actionAnswer(descr.action),
    bounce: bounceAnswer(descr.bounce),
  });
}

type Description = KnownTransaction['facts']['descr'];

function computeAnswer(phase: Description['compute_ph']): Json | null {
  if (!phase || phase.skipped) return phase ?? null;
  const hashes = {
    vm_init_state_hash: base64(phase.vm_init_state_hash),
    vm_final_state_hash: base64(phase.vm_final_state_hash),
  };
  return present({ ...phase, ...hashes });
}

function actionAnswer(phase: Description['action']): Json | null {
  if (!phase) return null;
  const { tot_msg_cells: cells, tot_msg_bits: bits, action_list_hash: list, ...same } = phase;
  return present({ ...same, action_list_hash: base64(list), tot_msg_size: { cells, bits } });
}

function bounceAnswer(phase: Description['bounce']): Json | null {
  if (!phase) return null;
  const { cells, bits, ...same } = phase;
  return phase.type === 'negfunds' ? { type: 'negfunds' } : present({ ...same, msg_size: { cells, bits } });
}

/** Every field of a message that the facts show. */
export function messageAnswer(facts: MessageFacts, version: number): Json {
  const flags = version >= EXTRA_FLAGS_VERSION;
  const internal = facts.type === 'int';
  const norm = facts.hash_norm && facts.hash_norm !== facts.hash ? { hash_norm: base64(facts.hash_norm) } : {};
  return {
    hash: base64(facts.hash),
    source: internalAddress(facts.src),
    destination: internalAddress(facts.dst),
    value: facts.value?.grams ?? null,
    value_extra_currencies: internal ? (facts.value?.extra ?? {}) : null,
    fwd_fee: facts.fwd_fee ?? null,
    ihr_fee: internal ? (flags ? '0' : facts.ihr_fee) : null,
    extra_flags: internal && flags ? facts.ihr_fee : null,
    created_lt: facts.created_lt ?? null,
    created_at: facts.created_at === undefined ? null : String(facts.created_at),
    ihr_disabled: facts.ihr_disabled ?? null,
    bounce: facts.bounce ?? null,
    bounced: facts.bounced ?? null,
    import_fee: facts.import_fee ?? null,
    message_content: { hash: base64(facts.body_hash) },
    ...norm,
  };
}
