/** Shapes of the answers, for the OpenAPI document. Required fields may be null where they say so; others may miss. */
import { z } from 'zod';

export const hash = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/)
  .meta({ description: '32 bytes in padded standard base64.' });
export const address = z.string().meta({ description: 'Raw form, upper-case hex: `0:5F05…`.' });
export const decimal = z.string().regex(/^-?[0-9]+$/);
const shard = z.string().regex(/^[0-9A-F]{1,16}$/);
const opcode = z.string().regex(/^0x[0-9a-f]{8}$/);
export const extraCurrencies = z.record(z.string(), decimal);
export const integer = z.int();
export const status = z.enum(['uninit', 'frozen', 'active', 'nonexist']);
const statusChange = z.enum(['unchanged', 'frozen', 'deleted']);

export const blockId = z.strictObject({ workchain: integer, shard, seqno: integer }).meta({ id: 'BlockId' });

export const block = z
  .strictObject({
    ...blockId.shape,
    root_hash: hash,
    file_hash: hash,
    global_id: integer,
    version: integer,
    after_merge: z.boolean(),
    before_split: z.boolean(),
    after_split: z.boolean(),
    want_merge: z.boolean(),
    want_split: z.boolean(),
    key_block: z.boolean(),
    vert_seqno_incr: z.boolean(),
    flags: integer,
    gen_utime: decimal,
    start_lt: decimal,
    end_lt: decimal,
    validator_list_hash_short: integer,
    gen_catchain_seqno: integer,
    min_ref_mc_seqno: integer,
    prev_key_block_seqno: integer,
    vert_seqno: integer,
    master_ref_seqno: integer,
    rand_seed: hash,
    created_by: hash,
    tx_count: integer,
    masterchain_block_ref: blockId,
    prev_blocks: z.array(blockId),
  })
  .meta({ id: 'Block' });

export const nextCursor = z
  .string()
  .nullable()
  .optional()
  .meta({ description: 'Only with `cursor`: what to send for the next page, null on the last.' });

export const masterchainInfo = z.strictObject({ last: block, first: block }).meta({ id: 'MasterchainInfo' });
export const blocks = z.strictObject({ blocks: z.array(block), next_cursor: nextCursor }).meta({ id: 'Blocks' });

const decodedBody = z
  .looseObject({ '@type': z.string().optional() })
  .meta({ id: 'DecodedBody', description: 'What a body says; `@type` names its layout.' });

export const decoded = z
  .strictObject({
    opcodes: z.array(z.string()).meta({ description: 'Names, `unknown` where there is none.' }),
    bodies: z.array(decodedBody).meta({ description: 'Bodies; `error` says why one is not decoded.' }),
  })
  .meta({ id: 'Decoded' });

const messageContent = z
  .strictObject({
    hash: hash.nullable(),
    body: z.string().nullable().meta({ description: 'Bag of cells, base64.' }),
    decoded: decodedBody.nullable(),
  })
  .meta({ id: 'MessageContent' });

export const message = z
  .strictObject({
    hash,
    source: address.nullable(),
    destination: address.nullable(),
    value: decimal.nullable(),
    value_extra_currencies: extraCurrencies.nullable(),
    fwd_fee: decimal.nullable(),
    ihr_fee: decimal.nullable(),
    extra_flags: decimal.nullable(),
    created_lt: decimal.nullable(),
    created_at: decimal.nullable(),
    opcode: opcode.nullable(),
    decoded_opcode: z.string().nullable(),
    ihr_disabled: z.boolean().nullable(),
    bounce: z.boolean().nullable(),
    bounced: z.boolean().nullable(),
    import_fee: decimal.nullable(),
    in_msg_tx_hash: hash.optional(),
    out_msg_tx_hash: hash.optional(),
    message_content: messageContent.nullable(),
    init_state: messageContent.nullable(),
    hash_norm: hash.optional(),
  })
  .meta({ id: 'Message' });

const size = z.strictObject({ cells: decimal, bits: decimal }).meta({ id: 'MessageSize' });

const computePhase = z.strictObject({
  skipped: z.boolean(),
  reason: z.enum(['no_state', 'bad_state', 'no_gas', 'suspended']).optional(),
  success: z.boolean().optional(),
  msg_state_used: z.boolean().optional(),
  account_activated: z.boolean().optional(),
  gas_fees: decimal.optional(),
  gas_used: decimal.optional(),
  gas_limit: decimal.optional(),
  gas_credit: decimal.optional(),
  mode: integer.optional(),
  exit_code: integer.optional(),
  exit_arg: integer.optional(),
  vm_steps: integer.optional(),
  vm_init_state_hash: hash.optional(),
  vm_final_state_hash: hash.optional(),
});

const actionPhase = z.strictObject({
  success: z.boolean(),
  valid: z.boolean(),
  no_funds: z.boolean(),
  status_change: statusChange,
  total_fwd_fees: decimal.optional(),
  total_action_fees: decimal.optional(),
  result_code: integer,
  result_arg: integer.optional(),
  tot_actions: integer,
  spec_actions: integer,
  skipped_actions: integer,
  msgs_created: integer,
  action_list_hash: hash,
  tot_msg_size: size,
});

const description = z
  .strictObject({
    type: z.enum(['ord', 'storage', 'tick_tock', 'split_prepare', 'split_install', 'merge_prepare', 'merge_install']),
    aborted: z.boolean().optional(),
    destroyed: z.boolean().optional(),
    credit_first: z.boolean().optional(),
    is_tock: z.boolean().optional(),
    installed: z.boolean().optional(),
    storage_ph: z
      .strictObject({
        storage_fees_collected: decimal,
        storage_fees_due: decimal.optional(),
        status_change: statusChange,
      })
      .optional(),
    credit_ph: z
      .strictObject({
        due_fees_collected: decimal.optional(),
        credit: decimal,
        credit_extra_currencies: extraCurrencies.optional(),
      })
      .optional(),
    compute_ph: computePhase.optional(),
    action: actionPhase.optional(),
    bounce: z
      .strictObject({
        type: z.enum(['negfunds', 'nofunds', 'ok']),
        msg_size: size.optional(),
        req_fwd_fees: decimal.optional(),
        msg_fees: decimal.optional(),
        fwd_fees: decimal.optional(),
      })
      .optional(),
    split_info: z
      .strictObject({
        cur_shard_pfx_len: integer,
        acc_split_depth: integer,
        this_addr: address,
        sibling_addr: address,
      })
      .optional(),
  })
  .meta({ id: 'TransactionDescription' });

const accountState = z
  .strictObject({
    hash,
    balance: decimal.nullable(),
    extra_currencies: extraCurrencies.nullable(),
    account_status: status.nullable(),
    frozen_hash: hash.nullable(),
    data_hash: hash.nullable(),
    code_hash: hash.nullable(),
  })
  .meta({ id: 'AccountState' });

export const transaction = z
  .strictObject({
    account: address,
    hash,
    lt: decimal,
    now: integer,
    mc_block_seqno: integer,
    trace_id: hash.optional(),
    trace_external_hash: hash.optional(),
    prev_trans_hash: hash,
    prev_trans_lt: decimal,
    orig_status: status,
    end_status: status,
    total_fees: decimal,
    total_fees_extra_currencies: extraCurrencies,
    description,
    block_ref: blockId,
    in_msg: message.nullable(),
    out_msgs: z.array(message),
    account_state_before: accountState,
    account_state_after: accountState,
    emulated: z.boolean(),
    finality: z.enum(['pending', 'confirmed', 'finalized']),
  })
  .meta({ id: 'Transaction' });

export const addressBook = z
  .record(
    z.string(),
    z.strictObject({
      user_friendly: z.string().nullable(),
      domain: z.string().nullable(),
      interfaces: z.array(z.string()),
    }),
  )
  .meta({ id: 'AddressBook' });

const tokenInfo = z
  .strictObject({
    valid: z.boolean().optional(),
    type: z.enum(['nft_items', 'nft_collections', 'jetton_masters', 'jetton_wallets']),
    name: z.string().optional(),
    symbol: z.string().optional(),
    description: z.string().optional(),
    image: z.string().optional(),
    nft_index: z.string().optional(),
    is_nsfw: z.boolean().optional(),
    is_scam: z.boolean().optional(),
    extra: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'TokenInfo' });

export const metadata = z
  .record(
    z.string(),
    z.strictObject({
      is_indexed: z.boolean().meta({ description: 'False while a document that the content names was not fetched.' }),
      token_info: z.array(tokenInfo),
    }),
  )
  .meta({ id: 'Metadata' });

export const transactions = z
  .strictObject({ transactions: z.array(transaction), address_book: addressBook, next_cursor: nextCursor })
  .meta({ id: 'Transactions' });
export const messages = z
  .strictObject({ messages: z.array(message), address_book: addressBook, metadata, next_cursor: nextCursor })
  .meta({ id: 'Messages' });

export const traceNode = z
  .strictObject({
    tx_hash: hash,
    in_msg_hash: hash.optional(),
    get children() {
      return z.array(traceNode);
    },
  })
  .meta({ id: 'TraceNode' });

export const action = z
  .strictObject({
    trace_id: hash.nullable().meta({ description: 'Null while the root of the trace is emulated.' }),
    action_id: hash,
    start_lt: decimal,
    end_lt: decimal,
    start_utime: integer,
    end_utime: integer,
    trace_end_lt: decimal,
    trace_end_utime: integer,
    trace_mc_seqno_end: integer,
    transactions: z.array(hash),
    success: z.boolean(),
    type: z.string(),
    details: z.looseObject({}).meta({ id: 'ActionDetails', description: 'By type: what the action did.' }),
    trace_external_hash: hash.optional(),
    trace_external_hash_norm: hash.optional(),
    accounts: z.array(address).optional(),
    transactions_full: z.array(transaction).optional(),
    finality: z.enum(['pending', 'confirmed', 'finalized']),
  })
  .meta({ id: 'Action' });

const trace = z
  .strictObject({
    trace_id: hash.nullable().meta({ description: 'Null while the root of the trace is emulated.' }),
    external_hash: hash.nullable(),
    mc_seqno_start: decimal,
    mc_seqno_end: decimal,
    start_lt: decimal,
    start_utime: integer,
    end_lt: decimal,
    end_utime: integer,
    trace_info: z.strictObject({
      trace_state: z.enum(['complete', 'pending', 'broken']),
      messages: integer,
      transactions: integer,
      pending_messages: integer,
      classification_state: z.enum(['unclassified', 'ok', 'failed', 'broken']),
    }),
    is_incomplete: z.boolean(),
    warning: z.string().optional(),
    actions: z.array(action).optional(),
    trace: traceNode.optional(),
    transactions_order: z.array(hash).optional(),
    transactions: z.record(z.string(), transaction).optional(),
  })
  .meta({ id: 'Trace' });

export const traces = z
  .strictObject({ traces: z.array(trace), address_book: addressBook, metadata, next_cursor: nextCursor })
  .meta({ id: 'Traces' });
export const events = z
  .strictObject({ events: z.array(trace), address_book: addressBook, metadata, next_cursor: nextCursor })
  .meta({ id: 'Events' });
export const actions = z
  .strictObject({ actions: z.array(action), address_book: addressBook, metadata, next_cursor: nextCursor })
  .meta({ id: 'Actions' });

const when = (description: string) => integer.nullable().meta({ description });
export const messageTrace = z
  .strictObject({
    stage: z.enum(['unknown', 'seen', 'pending', 'confirmed', 'invalidated', 'included', 'complete']).meta({
      description:
        'Nothing is known of it; sent through this service; what it does was emulated; a signed shard block has it; it cannot come true any more; a block has it that the masterchain knows; its trace is complete.',
    }),
    seen_utime_ms: when(
      'When this service sent it, or the message that began its trace, in milliseconds; kept for an hour.',
    ),
    pending_utime_ms: when(
      'When its emulated trace was told, in milliseconds; as the times of the other levels, kept for some minutes.',
    ),
    confirmed_utime_ms: when('When a signed shard block was seen to have it, in milliseconds.'),
    finalized_utime_ms: when('When a masterchain block was seen to commit it, in milliseconds.'),
    invalidated_utime_ms: when('When it was told that it cannot come true, in milliseconds.'),
    invalidated_reason: z
      .enum(['expired', 'superseded', 'replaced'])
      .nullable()
      .meta({ description: 'No block has taken it in time; another message has; its signed block was replaced.' }),
    included_utime: when('Time of the transaction.'),
    included_mc_seqno: when('Masterchain block that committed the transaction.'),
    complete_utime: when('When the trace ended.'),
    complete_mc_seqno: when('Masterchain block that completed the trace.'),
    transaction: hash
      .nullable()
      .meta({ description: 'The one asked for, or the one that received the message, else the sender.' }),
    trace: trace.nullable().meta({ description: 'With its actions once it is complete.' }),
    address_book: addressBook,
    metadata,
  })
  .meta({ id: 'MessageTrace' });

export const balanceHistory = z
  .strictObject({
    points: z.array(
      z.strictObject({
        mc_seqno: integer.meta({ description: 'The masterchain block behind which the account had this.' }),
        lt: decimal.meta({ description: 'Of the last transaction before it.' }),
        utime: integer.nullable(),
        balance: decimal
          .nullable()
          .meta({ description: 'Nanotons, or units of the jetton; null where it was not seen.' }),
      }),
    ),
    next_cursor: z.string().nullable(),
  })
  .meta({ id: 'BalanceHistory' });

const coins = z.record(z.string(), z.int()).nullable().meta({ description: 'Nanotons by account.' });

export const balanceChanges = z
  .strictObject({
    changes: coins,
    fees: coins,
    jettons: z
      .record(z.string(), z.record(z.string(), decimal))
      .nullable()
      .meta({ description: 'Units of jettons by owner, then by master.' }),
  })
  .meta({ id: 'BalanceChanges' });

export const failure = z.strictObject({ error: z.string() }).meta({ id: 'Error' });
