/** Shapes of answers, for the API's description. */
import { z } from 'zod';

const typed = <T extends z.ZodRawShape>(type: string, shape: T) => z.object({ '@type': z.literal(type), ...shape });
const bytes = z.string().meta({ description: 'base64' });
const int64 = z.string().meta({ description: 'signed decimal' });
const amount = z.string().meta({ description: 'decimal, in the smallest units' });

export const blockId = typed('ton.blockIdExt', {
  workchain: z.int(),
  shard: int64,
  seqno: z.int(),
  root_hash: bytes,
  file_hash: bytes,
}).meta({ id: 'TonBlockIdExt' });
export const transactionId = typed('internal.transactionId', { lt: int64, hash: bytes }).meta({
  id: 'InternalTransactionId',
});
const currency = typed('extraCurrency', { id: z.int(), amount });
const accountAddress = typed('accountAddress', { account_address: z.string() }).meta({ id: 'AccountAddress' });

const variant = typed('ext.utils.detectedAddressVariant', { b64: z.string(), b64url: z.string() });
export const detectedAddress = typed('ext.utils.detectedAddress', {
  raw_form: z.string(),
  bounceable: variant,
  non_bounceable: variant,
  given_type: z.enum(['raw_form', 'friendly_bounceable', 'friendly_non_bounceable']),
  test_only: z.boolean(),
});
export const detectedHash = typed('ext.utils.detectedHash', { b64: bytes, b64url: z.string(), hex: z.string() });

const messageData = z
  .union([
    typed('msg.dataRaw', { body: bytes, init_state: bytes }),
    typed('msg.dataText', { text: bytes }),
    typed('msg.dataEncryptedText', { text: bytes }),
  ])
  .meta({ id: 'MsgData' });
const messageFields = {
  hash: bytes,
  value: amount,
  extra_currencies: z.array(currency),
  fwd_fee: amount,
  ihr_fee: amount,
  created_lt: int64,
  body_hash: bytes,
  msg_data: messageData,
};
const extMessage = typed('ext.message', {
  ...messageFields,
  source: z.string(),
  destination: z.string(),
  message: z.string().optional(),
}).meta({ id: 'Message' });
const rawMessage = typed('raw.message', {
  ...messageFields,
  source: accountAddress,
  destination: accountAddress,
}).meta({ id: 'MessageStd' });
const transactionFields = {
  address: accountAddress,
  utime: z.int(),
  data: bytes,
  transaction_id: transactionId,
  fee: amount,
  storage_fee: amount,
  other_fee: amount,
};
export const transaction = typed('ext.transaction', {
  ...transactionFields,
  account: z.string(),
  in_msg: extMessage.optional(),
  out_msgs: z.array(extMessage),
}).meta({ id: 'Transaction' });
const rawMessages = { in_msg: rawMessage.optional(), out_msgs: z.array(rawMessage) };
const transactionExt = typed('raw.transactionExt', {
  ...transactionFields,
  account: z.string(),
  ...rawMessages,
}).meta({ id: 'TransactionExt' });
export const transactionsStd = typed('raw.transactions', {
  transactions: z.array(typed('raw.transaction', { ...transactionFields, ...rawMessages })),
  previous_transaction_id: transactionId,
});

const header = {
  id: blockId,
  global_id: z.int(),
  version: z.int(),
  flags: z.int(),
  after_merge: z.boolean(),
  after_split: z.boolean(),
  before_split: z.boolean(),
  want_merge: z.boolean(),
  want_split: z.boolean(),
  validator_list_hash_short: z.int(),
  catchain_seqno: z.int(),
  min_ref_mc_seqno: z.int(),
  is_key_block: z.boolean(),
  prev_key_block_seqno: z.int(),
  start_lt: int64,
  end_lt: int64,
  gen_utime: z.int(),
  vert_seqno: z.int(),
  prev_blocks: z.array(blockId),
};
export const blockHeader = typed('blocks.header', header);
export const shards = typed('blocks.shards', { shards: z.array(blockId) });
const blockPage = { id: blockId, req_count: z.int(), incomplete: z.boolean() };
export const blockTransactions = typed('blocks.transactions', {
  ...blockPage,
  transactions: z.array(typed('blocks.shortTxId', { mode: z.int(), account: z.string(), lt: int64, hash: bytes })),
});
export const blockTransactionsExt = typed('blocks.transactionsExt', {
  ...blockPage,
  transactions: z.array(transactionExt),
});
