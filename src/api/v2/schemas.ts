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

const status = z.enum(['active', 'frozen', 'uninitialized']);
export const addressInformation = typed('raw.fullAccountState', {
  balance: amount,
  extra_currencies: z.array(currency),
  last_transaction_id: transactionId,
  block_id: blockId,
  code: bytes,
  data: bytes,
  frozen_hash: bytes,
  sync_utime: z.int(),
  state: status,
  suspended: z.boolean().optional(),
});

export const masterchainInfo = typed('blocks.masterchainInfo', {
  last: blockId,
  state_root_hash: bytes,
  init: blockId,
});
export const consensusBlock = typed('ext.blocks.consensusBlock', { consensus_block: z.int(), timestamp: z.int() });
export const cell = typed('tvm.cell', { bytes });
export const configInfo = typed('configInfo', { config: cell });
export const libraries = typed('smc.libraryResult', {
  result: z.array(typed('smc.libraryEntry', { hash: bytes, data: bytes })),
});

const counted = { wallet_id: z.int(), seqno: z.int() };
const accountState = z
  .union([
    typed('raw.accountState', { code: bytes, data: bytes, frozen_hash: bytes }),
    typed('wallet.v3.accountState', counted),
    typed('wallet.v4.accountState', counted),
    typed('wallet.highload.v1.accountState', counted),
    typed('wallet.highload.v2.accountState', { wallet_id: z.int() }),
    typed('uninited.accountState', { frozen_hash: bytes }),
  ])
  .meta({ id: 'AccountState' });
export const extendedInformation = typed('fullAccountState', {
  address: accountAddress,
  balance: amount,
  extra_currencies: z.array(currency),
  last_transaction_id: transactionId,
  block_id: blockId,
  sync_utime: z.int(),
  account_state: accountState,
  revision: z.int(),
});
export const walletInformation = typed('ext.accounts.walletInformation', {
  wallet: z.boolean(),
  balance: amount,
  account_state: status,
  last_transaction_id: transactionId,
  wallet_type: z.string().optional(),
  seqno: z.int().optional(),
  wallet_id: z.int().optional(),
  is_signature_allowed: z.boolean().optional(),
});

const signature = typed('blocks.signature', { node_id_short: bytes, signature: bytes });
const signed = { id: blockId, signatures: z.array(signature) };
const simplex = { ...signed, session_id: bytes, slot: z.int(), candidate: bytes };
export const signatures = z.union([
  typed('blocks.blockSignatures', signed),
  typed('blocks.blockSignatures.simplex', simplex),
]);
const back = { to_key_block: z.boolean(), from: blockId, to: blockId };
export const shardBlockProof = typed('blocks.shardBlockProof', {
  from: blockId,
  mc_id: blockId,
  links: z.array(typed('blocks.shardBlockLink', { id: blockId, proof: bytes })),
  mc_proof: z.array(typed('blocks.blockLinkBack', { ...back, dest_proof: bytes, proof: bytes, state_proof: bytes })),
});
export const queueSizes = typed('blocks.outMsgQueueSizes', {
  shards: z.array(typed('blocks.outMsgQueueSize', { id: blockId, size: z.int() })),
  ext_msg_queue_size_limit: z.int(),
});
