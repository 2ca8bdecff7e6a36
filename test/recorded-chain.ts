/** The blocks and answers of the recorded reference service, decoded and found by hash. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { accountStatesAfter, blockTransactions } from '../src/chain/accounts.ts';
import { rawAddress } from '../src/chain/address.ts';
import { type Block, decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import { DecodeError } from '../src/chain/errors.ts';
import type { AccountState, Message } from '../src/chain/model.ts';
import type { AccountRecord, BlockRecord, MessageRecord, TransactionRecord } from '../src/chain/records.ts';
import { serialize } from '../src/chain/serialize.ts';
import { requireShelf } from './shelf.ts';

const Line = z.object({ mc_seqno: z.number().nullable(), boc: z.string() });
const Case = z.object({
  endpoint: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.number(),
  body: z.unknown(),
});
export type Case = z.infer<typeof Case>;

export const RECORDINGS = ['mainnet', 'private'] as const;
export type Recording = (typeof RECORDINGS)[number];

export interface RecordedChain {
  cases: Case[];
  /** By root hash, transaction hash and message hash, all in base64. */
  blocks: Map<string, BlockRecord>;
  transactions: Map<string, TransactionRecord>;
  messages: Map<string, MessageRecord>;
  /** Of a transaction, by its hash in base64: the bag of cells that it is stored as. */
  bags: Map<string, () => Buffer>;
  /** The latest state that the blocks show, by raw address. Without code, data and methods. */
  accounts: Map<string, AccountRecord>;
}

function readLines(file: string): unknown[] {
  const text = gunzipSync(readFileSync(`${requireShelf()}/data/answers/${file}`)).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line): unknown => JSON.parse(line));
}

export function recordedChain(recording: Recording): RecordedChain {
  const chain: RecordedChain = {
    cases: readLines(`${recording}/cases.ndjson.gz`).map((line) => Case.parse(line)),
    blocks: new Map(),
    transactions: new Map(),
    messages: new Map(),
    bags: new Map(),
    accounts: new Map(),
  };
  for (const line of readLines(`${recording}/blocks.ndjson.gz`)) {
    const { boc, mc_seqno } = Line.parse(line);
    addBlock(chain, Buffer.from(boc, 'base64'), mc_seqno ?? 0);
  }
  return chain;
}

/** Adds one block with everything in it. States and traces are not known from a block alone and stay null. */
export function addBlock(chain: RecordedChain, bytes: Buffer, mcSeqno: number): void {
  const boc = openBoc(bytes);
  const block = decodeBlock(boc);
  const { header, createdBy, randSeed } = block;
  const globalVersion = header.genSoftware?.version ?? 0;
  const place = { workchain: header.workchain, shard: header.shard, seqno: header.seqno };
  let txCount = 0;
  for (const transaction of blockTransactions(block)) {
    txCount++;
    const trace = { traceId: null, externalHash: null };
    const record = { transaction, block: place, mcSeqno, ...trace, globalVersion, before: null, after: null };
    chain.transactions.set(transaction.hash.toString('base64'), record);
    chain.bags.set(transaction.hash.toString('base64'), () => serialize(boc, transaction.cell));
    if (transaction.inMsg !== null) note(chain, transaction.inMsg, globalVersion).inTxHash = transaction.hash;
    for (const message of transaction.outMsgs) note(chain, message, globalVersion).outTxHash = transaction.hash;
  }
  for (const state of readableStates(block)) {
    const known = chain.accounts.get(rawAddress(state.account));
    if (known !== undefined && BigInt(known.lastTransactionLt) >= BigInt(state.lastTransactionLt)) continue;
    chain.accounts.set(rawAddress(state.account), { ...state, codeBoc: null, dataBoc: null, methods: null });
  }
  chain.blocks.set(header.rootHash.toString('base64'), { header, mcSeqno, createdBy, randSeed, txCount });
}

/** No states where the block's update leaves out part of an account. */
function readableStates(block: Block): AccountState[] {
  try {
    return accountStatesAfter(block);
  } catch (error) {
    if (error instanceof DecodeError) return [];
    throw error;
  }
}

function note(chain: RecordedChain, message: Message, globalVersion: number): MessageRecord {
  const key = message.hash.toString('base64');
  const known = chain.messages.get(key);
  if (known !== undefined) return known;
  const record: MessageRecord = { message, globalVersion, inTxHash: null, outTxHash: null };
  chain.messages.set(key, record);
  return record;
}
