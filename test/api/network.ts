/** Recorded blocks as other decoders read them, in memory: what the API is compared with. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { requireShelf } from '../shelf.ts';

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const decimal = z.string().regex(/^\d+$/);
const currencies = z.object({ grams: decimal, extra: z.record(z.string(), decimal).optional() });
/** `ext:<bit length>` stands for an external address. */
const messageFacts = z.object({
  type: z.enum(['int', 'ext_in', 'ext_out']),
  hash: hex,
  body_hash: hex,
  has_init: z.boolean(),
  src: z.string().nullable(),
  dst: z.string().nullable(),
  hash_norm: hex.nullish(),
  import_fee: decimal.optional(),
  created_lt: decimal.optional(),
  created_at: z.number().optional(),
  value: currencies.optional(),
  fwd_fee: decimal.optional(),
  ihr_fee: decimal.optional(),
  ihr_disabled: z.boolean().optional(),
  bounce: z.boolean().optional(),
  bounced: z.boolean().optional(),
});
const storage = z.object({ collected: decimal, due: decimal.nullish(), status_change: z.string() });
const compute = z.discriminatedUnion('skipped', [
  z.object({ skipped: z.literal(true), reason: z.string() }),
  z.object({
    skipped: z.literal(false),
    success: z.boolean(),
    msg_state_used: z.boolean(),
    account_activated: z.boolean(),
    gas_fees: decimal,
    gas_used: decimal,
    gas_limit: decimal,
    gas_credit: decimal.nullish(),
    mode: z.number(),
    exit_code: z.number(),
    exit_arg: z.number().nullish(),
    vm_steps: z.number(),
    vm_init_state_hash: hex,
    vm_final_state_hash: hex,
  }),
]);
const action = z.object({
  success: z.boolean(),
  valid: z.boolean(),
  no_funds: z.boolean(),
  status_change: z.string(),
  total_fwd_fees: decimal.nullish(),
  total_action_fees: decimal.nullish(),
  result_code: z.number(),
  result_arg: z.number().nullish(),
  tot_actions: z.number(),
  spec_actions: z.number(),
  skipped_actions: z.number(),
  msgs_created: z.number(),
  action_list_hash: hex,
  tot_msg_cells: decimal,
  tot_msg_bits: decimal,
});
const bounce = z.object({
  type: z.string(),
  cells: decimal.optional(),
  bits: decimal.optional(),
  req_fwd_fees: decimal.optional(),
  msg_fees: decimal.optional(),
  fwd_fees: decimal.optional(),
});
const description = z.object({
  type: z.enum(['ord', 'tick_tock']),
  aborted: z.boolean(),
  destroyed: z.boolean(),
  credit_first: z.boolean().optional(),
  is_tock: z.boolean().optional(),
  storage_ph: storage.nullish(),
  credit_ph: z.object({ credit: currencies, due_fees_collected: decimal.nullish() }).nullish(),
  compute_ph: compute.nullish(),
  action: action.nullish(),
  bounce: bounce.nullish(),
});
const transactionFacts = z.object({
  account: hex,
  lt: decimal,
  hash: hex,
  prev_trans_hash: hex,
  prev_trans_lt: decimal,
  now: z.number(),
  orig_status: z.string(),
  end_status: z.string(),
  total_fees: currencies,
  old_hash: hex,
  new_hash: hex,
  in_msg: messageFacts.nullable(),
  out_msgs: z.array(messageFacts),
  descr: description,
});
const blockFacts = z.object({
  workchain: z.number(),
  shard: z.string().regex(/^[0-9a-f]{16}$/),
  seqno: z.number(),
  root_hash: hex,
  file_hash: hex,
  global_id: z.number(),
  version: z.number(),
  after_merge: z.boolean(),
  before_split: z.boolean(),
  after_split: z.boolean(),
  want_merge: z.boolean(),
  want_split: z.boolean(),
  key_block: z.boolean(),
  vert_seqno_incr: z.boolean(),
  vert_seqno: z.number(),
  flags: z.number(),
  gen_utime: z.number(),
  start_lt: decimal,
  end_lt: decimal,
  gen_validator_list_hash_short: z.number(),
  gen_catchain_seqno: z.number(),
  min_ref_mc_seqno: z.number(),
  prev_key_block_seqno: z.number(),
  gen_software: z.object({ version: z.number() }).nullable(),
  master_ref: z.object({ seqno: z.number() }).nullable(),
  prev: z.array(z.object({ seqno: z.number() })),
  rand_seed: hex,
  created_by: hex,
  shard_hashes: z.record(z.string(), z.array(z.object({ root_hash: hex, seqno: z.number() }))).optional(),
});
const facts = z.object({ block: blockFacts, transactions: z.array(transactionFacts) });
const line = z.object({ mc_seqno: z.number().nullable(), seqno: z.number(), workchain: z.number() });

export type MessageFacts = z.infer<typeof messageFacts>;
export type TransactionFacts = z.infer<typeof transactionFacts>;

export interface KnownBlock {
  facts: z.infer<typeof blockFacts>;
  mcSeqno: number;
  txCount: number;
}
export interface KnownTransaction {
  facts: TransactionFacts;
  block: KnownBlock;
  /** Raw form, upper-case hex. */
  account: string;
}
export interface KnownMessage {
  facts: MessageFacts;
  /** Sender and receiver in raw form; null where there is no internal address. */
  source: string | null;
  destination: string | null;
  /** Transactions at both ends, as far as they are among the blocks. */
  sender: KnownTransaction | null;
  receiver: KnownTransaction | null;
}
export interface Network {
  blocks: KnownBlock[];
  transactions: KnownTransaction[];
  /** By hash in hex. */
  messages: Map<string, KnownMessage>;
}

const folder = (): string => join(requireShelf(), 'data', 'blocks');

function unzipped(name: string): string {
  return gunzipSync(readFileSync(join(folder(), name))).toString();
}

function lines(name: string): unknown[] {
  const texts = unzipped(name).trim().split('\n');
  return texts.map((text): unknown => JSON.parse(text));
}

export const sequencePath = (name: string): string => join(folder(), `seq_${name}.ndjson.gz`);

/** Paths of all recorded single blocks of a network. */
export function singlePaths(network: string): string[] {
  const names = readdirSync(folder()).filter((name) => name.startsWith(`${network}_`) && name.endsWith('.boc'));
  return names.sort().map((name) => join(folder(), name));
}

/** A sequence, with the masterchain blocks that commit its blocks as its lines name them. */
export function readSequenceFacts(name: string): Network {
  const places = lines(`seq_${name}.ndjson.gz`).map((value) => line.parse(value));
  const recorded = lines(`seq_${name}.facts.ndjson.gz`).map((value) => facts.parse(value));
  return assemble(
    recorded.map((entry, index) => {
      const { mc_seqno, seqno, workchain } = places[index];
      return { ...entry, mcSeqno: mc_seqno ?? (workchain === -1 ? seqno : Number.NaN) };
    }),
  );
}

/** Single blocks. A shard block belongs to the step after the masterchain block it refers to. */
export function readSingleFacts(network: string): Network {
  const names = readdirSync(folder()).filter(
    (name) => name.startsWith(`${network}_`) && name.endsWith('.facts.json.gz'),
  );
  return assemble(
    names.sort().map((name) => {
      const entry = facts.parse(JSON.parse(unzipped(name)));
      const { master_ref, seqno } = entry.block;
      return { ...entry, mcSeqno: master_ref === null ? seqno : master_ref.seqno + 1 };
    }),
  );
}

function assemble(entries: (z.infer<typeof facts> & { mcSeqno: number })[]): Network {
  const network: Network = { blocks: [], transactions: [], messages: new Map() };
  for (const { block, transactions, mcSeqno } of entries) {
    const known: KnownBlock = { facts: block, mcSeqno, txCount: transactions.length };
    network.blocks.push(known);
    for (const transaction of transactions) {
      const account = `${block.workchain}:${transaction.account.toUpperCase()}`;
      const entry: KnownTransaction = { facts: transaction, block: known, account };
      network.transactions.push(entry);
      if (transaction.in_msg) noteMessage(network, transaction.in_msg).receiver = entry;
      for (const message of transaction.out_msgs) noteMessage(network, message).sender = entry;
    }
  }
  return network;
}

function noteMessage({ messages }: Network, message: MessageFacts): KnownMessage {
  const known = messages.get(message.hash) ?? {
    facts: message,
    source: internalAddress(message.src),
    destination: internalAddress(message.dst),
    sender: null,
    receiver: null,
  };
  messages.set(message.hash, known);
  return known;
}

/** Raw form as the API prints it; null for none and for external addresses. */
export function internalAddress(text: string | null): string | null {
  return text === null || text.startsWith('ext:') ? null : text.toUpperCase();
}

export const base64 = (hash: string): string => Buffer.from(hash, 'hex').toString('base64');

export function groupBy<T>(list: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of list) {
    const name = key(item);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}
