import { accountStatesAfter, blockTransactions } from '../../src/chain/accounts.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { type Boc, openBoc } from '../../src/chain/boc.ts';
import { decodeBlockInfo } from '../../src/chain/header.ts';
import type { AccountState, BlockId, Transaction } from '../../src/chain/model.ts';
import type { BlockRecord } from '../../src/chain/records.ts';
import { serialize } from '../../src/chain/serialize.ts';
import { blockKey, type StoredBlock } from '../envelope.ts';
import type { Step } from '../steps.ts';

export interface DecodedBlock {
  boc: Boc;
  record: BlockRecord;
  /** The `BlockInfo` cell as a bag of its own. */
  info: Buffer;
  transactions: Transaction[];
  states: AccountState[];
  /** Tops of all shards, in masterchain blocks. */
  shardTops: BlockId[];
}

export interface DecodedStep {
  mcSeqno: number;
  blocks: DecodedBlock[];
}

/** A block of a sealed step that the codec cannot read. */
export class BlockError extends Error {
  override name = 'BlockError';
  constructor(
    readonly block: string,
    options: { cause: unknown },
  ) {
    super(`block ${block}: ${options.cause instanceof Error ? options.cause.message : String(options.cause)}`, options);
  }
}

/** Decodes all blocks of a step. Throws BlockError for the first that cannot be read. */
export function decodeStep(step: Step): DecodedStep {
  return { mcSeqno: step.mcSeqno, blocks: step.blocks.map((block) => decodeStored(block, step.mcSeqno)) };
}

function decodeStored(stored: StoredBlock, mcSeqno: number): DecodedBlock {
  try {
    const boc = openBoc(stored.boc);
    const block = decodeBlock(boc);
    const transactions = [...blockTransactions(block)];
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
      states: accountStatesAfter(block),
      shardTops: block.shardHashes(),
    };
  } catch (cause) {
    throw new BlockError(blockKey(stored.id), { cause });
  }
}
