/** The masterchain blocks that contracts may ask for (`PrevBlocksInfo`: doc/tvm-instructions.md, `PREVMCBLOCKS`). */
import type { BlockIdExt } from '../chain/model.ts';
import type { StackValue } from './stack.ts';

export interface PreviousBlockIds {
  /** Newest first, the step's own among them. */
  last: readonly BlockIdExt[];
  keyBlock: BlockIdExt;
  /** Those whose seqno is a multiple of 100, newest first. */
  hundreds: readonly BlockIdExt[];
}

const SINCE_HUNDREDS = 9;

/** @param version global version of the step: the blocks by the hundred came with version 9 */
export function previousBlocksTuple({ last, keyBlock, hundreds }: PreviousBlockIds, version: number): StackValue {
  const tuple = (items: StackValue[]): StackValue => ({ type: 'tuple', items });
  const parts = [tuple(last.map(blockTuple)), blockTuple(keyBlock)];
  return tuple(version < SINCE_HUNDREDS ? parts : [...parts, tuple(hundreds.map(blockTuple))]);
}

/** `[workchain, shard, seqno, root_hash, file_hash]`, all of them integers without sign but the first. */
function blockTuple({ workchain, shard, seqno, rootHash, fileHash }: BlockIdExt): StackValue {
  const numbers = [workchain, `0x${shard}`, seqno, `0x${rootHash.toString('hex')}`, `0x${fileHash.toString('hex')}`];
  return { type: 'tuple', items: numbers.map((number) => ({ type: 'int', value: BigInt(number) })) };
}
