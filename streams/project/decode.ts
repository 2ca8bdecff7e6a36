import { accountBlocks, accountStatesAfter, blockTransactions } from '../../src/chain/accounts.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { DecodeError, errorMessage } from '../../src/chain/errors.ts';
import { decodeBlockInfo } from '../../src/chain/header.ts';
import type { AccountState, BlockId, Transaction } from '../../src/chain/model.ts';
import type { BlockRecord } from '../../src/chain/records.ts';
import { serialize, serializedSize } from '../../src/chain/serialize.ts';
import { blockKey, type StoredBlock } from '../envelope.ts';
import type { Step } from '../steps.ts';

export interface DecodedBlock {
  boc: Boc;
  record: BlockRecord;
  /** The `BlockInfo` cell as a bag of its own. */
  info: Buffer;
  transactions: Transaction[];
  /** Each transaction as a bag of its own, in the same order. */
  payloads: Buffer[];
  states: AccountState[];
  /** Tops of all shards, in masterchain blocks. */
  shardTops: BlockId[];
}

/**
 * Most bytes that the transactions and messages of one block may take as bags of their own. Cells are shared within a
 * block but not between bags: a small hostile block can ask for thousands of copies of its largest tree.
 */
const MAX_STORED_BYTES = 256 * 1024 * 1024;
const FEW_MESSAGES = 8;

export interface DecodedStep {
  mcSeqno: number;
  /** Where it begins in the log. */
  firstOffset: number;
  blocks: DecodedBlock[];
}

/** A block of a sealed step that the codec cannot read. */
export class BlockError extends Error {
  override name = 'BlockError';
  constructor(
    readonly block: string,
    options: { cause: unknown },
  ) {
    super(`block ${block}: ${errorMessage(options.cause)}`, options);
  }
}

/** Decodes all blocks of a step. Throws BlockError for the first that cannot be read. */
export function decodeStep(step: Step): DecodedStep {
  const { mcSeqno, firstOffset } = step;
  return { mcSeqno, firstOffset, blocks: step.blocks.map((block) => decodeStored(block, mcSeqno)) };
}

function decodeStored(stored: StoredBlock, mcSeqno: number): DecodedBlock {
  try {
    const boc = openBoc(stored.boc);
    const block = decodeBlock(boc);
    const touched = accountBlocks(block);
    const transactions = [...blockTransactions(block, touched)];
    const payloads = serializeTransactions(boc, transactions);
    const info = boc.refs[boc.refStart[boc.roots[0]]];
    const header = decodeBlockInfo(boc, info, stored.globalId);
    return {
      boc,
      record: {
        // Both hashes were checked against the envelope when the block was appended.
        header: { ...header, rootHash: stored.id.rootHash, fileHash: stored.id.fileHash },
        mcSeqno,
        createdBy: block.createdBy,
        randSeed: block.randSeed,
        txCount: transactions.length,
      },
      info: serialize(boc, info, { crc: false }),
      transactions,
      payloads,
      states: accountStatesAfter(block, touched),
      shardTops: block.shardHashes(),
    };
  } catch (cause) {
    throw new BlockError(blockKey(stored.id), { cause });
  }
}

/** @throws {DecodeError} when transactions and messages together would take too much as bags of their own */
function serializeTransactions(boc: Boc, transactions: Transaction[]): Buffer[] {
  let bytes = 0;
  const payloads: Buffer[] = [];
  for (const { cell, inMsg, outMsgs } of transactions) {
    const payload = serialize(boc, cell, { crc: false });
    payloads.push(payload);
    const messages = inMsg ? [inMsg, ...outMsgs] : outMsgs;
    // A message is part of its transaction: a few of them need no look.
    bytes += payload.length * (messages.length > FEW_MESSAGES ? 1 : 1 + messages.length);
    if (messages.length > FEW_MESSAGES) {
      for (const message of messages) bytes += serializedSize(boc, message.cell);
    }
    if (bytes > MAX_STORED_BYTES) {
      throw new DecodeError(`its transactions take more than ${MAX_STORED_BYTES} bytes`, 'block/extra/account_blocks');
    }
  }
  return payloads;
}
