import type { BlockId } from '../../src/chain/model.ts';
import { blockKey } from '../envelope.ts';
import type { ShardTop } from './assembly.ts';
import { type BlockFile, type FileBlock, readBlockFile } from './block-files.ts';
import {
  type CheckedBlock,
  checkBlock,
  copyId,
  type FilePosition,
  IngestError,
  openBlock,
  positionText,
  sameHashes,
} from './check.ts';
import type { Spool, Spot } from './spool.ts';

/** A checked block of the run; its bytes are in the spool. */
export interface IndexedBlock extends CheckedBlock {
  place: FilePosition;
  spot: Spot;
  /** What the file says of the masterchain block that commits it. */
  givenMcSeqno: number | null;
  /** Step of the log that has the block already, null when none has. */
  loggedIn: number | null;
}

/** The blocks of a run by id. Takes about 1.3 KB of memory a block. */
export interface BlockIndex {
  readonly blocks: ReadonlyMap<string, IndexedBlock>;
  /** Blocks that came more than once. */
  readonly repeated: number;
  find(id: BlockId): IndexedBlock | null;
  bytes(block: IndexedBlock): Promise<Buffer>;
  /** `ShardHashes` of a masterchain block, read again from its bytes. */
  tops(block: IndexedBlock): Promise<ShardTop[]>;
}

export interface CollectOptions {
  /** `global_id` that every block must have; by default that of the first one. */
  globalId: number | null;
  signal: AbortSignal;
  onBytes: (count: number) => void;
  onBlock: () => void;
}

/**
 * First pass: reads and checks every block of the files and puts its bytes into the spool.
 * @throws {IngestError}
 */
export async function collectBlocks(
  files: readonly BlockFile[],
  spool: Spool,
  options: CollectOptions,
): Promise<BlockIndex> {
  const blocks = new Map<string, IndexedBlock>();
  let globalId = options.globalId;
  let repeated = 0;
  const take = async (found: FileBlock): Promise<void> => {
    const block = checkBlock(found.bytes, found.id, found.place);
    globalId ??= block.globalId;
    if (block.globalId !== globalId) throw otherNetwork(block, found.place, globalId, options.globalId !== null);
    const earlier = blocks.get(blockKey(block.id));
    if (earlier !== undefined) {
      mergeRepeated(earlier, block, found);
      repeated++;
      return;
    }
    const spot = await spool.add(found.bytes);
    const { place, mcSeqno } = found;
    blocks.set(blockKey(block.id), { ...block, place, spot, givenMcSeqno: mcSeqno, loggedIn: null });
  };
  for (const file of files) {
    for await (const found of readBlockFile(file, options.onBytes, options.signal)) {
      await take(found);
      options.onBlock();
      options.signal.throwIfAborted();
    }
  }
  return {
    blocks,
    repeated,
    find: (id) => blocks.get(blockKey(id)) ?? null,
    bytes: (block) => spool.read(block.spot),
    tops: async (block) => readTops(await spool.read(block.spot), block.place),
  };
}

/** `ShardHashes` of a masterchain block. */
export function readTops(bytes: Buffer, place: FilePosition): ShardTop[] {
  const tops = openBlock(bytes, place, (block) => block.shardHashes());
  return tops.map((top) => ({ ...copyId(top), regMcSeqno: top.regMcSeqno }));
}

function otherNetwork(block: CheckedBlock, place: FilePosition, expected: number, ofLog: boolean): IngestError {
  const what = `block ${blockKey(block.id)} is of network ${block.globalId} (global_id)`;
  const whose = ofLog ? 'the log holds' : 'the blocks before it are of';
  return new IngestError('network', place, `${what}, ${whose} network ${expected}; one log holds one network`);
}

function mergeRepeated(earlier: IndexedBlock, block: CheckedBlock, found: FileBlock): void {
  const key = blockKey(block.id);
  if (!sameHashes(earlier.id, block.id)) {
    const what = `a second, different block ${key}; the first one is in ${positionText(earlier.place)}`;
    throw new IngestError('conflict', found.place, what);
  }
  if (earlier.givenMcSeqno !== null && found.mcSeqno !== null && earlier.givenMcSeqno !== found.mcSeqno) {
    const what = `block ${key} is given mc_seqno ${found.mcSeqno}, in ${positionText(earlier.place)} ${earlier.givenMcSeqno}`;
    throw new IngestError('conflict', found.place, what);
  }
  earlier.givenMcSeqno ??= found.mcSeqno;
}
