import { type Cell, Slice, toBoc, type Visit } from '../../chain/builder.ts';
import { findLeaf, readAugE } from '../../chain/dictionary.ts';
import type { Hash } from '../../chain/model.ts';
import { blockIdExtToTl, type LiteAnswer, type TlBlockIdExt } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import { KEY_BITS, keyMaxLt } from '../augmentations.ts';
import { readMcExtra } from '../masterchain.ts';
import type { BlockPlace, Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { HEADER, mcStateExtra, prove, showLibraries, showStateShards, showTree } from './proofs.ts';
import { badRequest } from './refusals.ts';

/** A node's limit. */
const MAX_LIBRARIES = 16;

/** Mode bit: the configuration of the last key block, out of that block. */
const FROM_KEY_BLOCK = 0x8000;

/** Mode bits that ask for parts of the state besides the configuration. */
const MORE_OF_STATE = 0xfff;

/** Older masterchain blocks that contracts can ask for (`prev_blocks_info`): the last ones, and of each hundred. */
const PREVIOUS_BLOCKS = 16;

type ConfigInfo = LiteAnswer<'getConfigAll'>;

/** Shows the way to the configuration: `McStateExtra`, whose second cell, or first without shards, it is. */
export function configurationOf(state: Cell, visit: Visit): Cell {
  const shards = showStateShards(state, visit);
  return mcStateExtra(state).refs[shards === null ? 0 : 1];
}

/** Shows parameters of a configuration, or the way to where they would be. */
export function showParameters(config: Cell, ids: readonly number[], visit: Visit): void {
  for (const id of ids) {
    const key = Buffer.alloc(4);
    key.writeInt32BE(id);
    const leaf = findLeaf(config, KEY_BITS.config, key, visit);
    if (leaf !== null) showTree(leaf.ref(), visit);
  }
}

/** Shows the way to an older masterchain block in a state's `OldMcBlocksInfo`; false when it is not there. */
export function showOldBlock(state: Cell, seqno: number, visit: Visit): boolean {
  showStateShards(state, visit);
  const extra = mcStateExtra(state);
  // flags, validator_info (65 bits), prev_blocks
  const rest = new Slice(extra.refs[extra.refs.length - 1], visit).skip(16 + 65);
  const key = Buffer.alloc(4);
  key.writeUInt32BE(seqno);
  return findLeaf(readAugE(rest, keyMaxLt).root, KEY_BITS.mcBlocks, key, visit) !== null;
}

/** What a get-method may ask of the state besides the configuration. */
function showSurroundings(state: Cell, { seqno }: BlockPlace, visit: Visit): void {
  const shards = showStateShards(state, visit);
  if (shards !== null) showTree(shards, visit);
  const { afterKeyBlock, lastKeyBlock } = readMcExtra(mcStateExtra(state));
  const keyBlock = afterKeyBlock ? seqno : (lastKeyBlock?.seqno ?? 0);
  const hundred = Math.floor(seqno / 100) * 100;
  const spaced = (from: number, step: number): number[] =>
    Array.from({ length: PREVIOUS_BLOCKS }, (_, i) => from - step * i);
  const wanted = new Set([...spaced(seqno - 1, 1), ...spaced(hundred, 100), keyBlock, 0]);
  for (const each of wanted) if (each >= 0 && each < seqno) showOldBlock(state, each, visit);
}

export function configurationHandlers(blocks: Blocks): LiteHandlers {
  function info(mode: number, id: TlBlockIdExt, show: (config: Cell, visit: Visit) => void): ConfigInfo {
    if (mode & FROM_KEY_BLOCK) throw badRequest('configurations are given out of states only');
    const master = blocks.master(id);
    const state = blocks.state(master);
    const shown = prove(state, (visit) => {
      show(configurationOf(state, visit), visit);
      if (mode & MORE_OF_STATE) showSurroundings(state, master, visit);
    });
    const header = blocks.header(master, HEADER.stateUpdate);
    const stateProof = header === null ? Buffer.alloc(0) : toBoc(header);
    return { mode, id: blockIdExtToTl(master), stateProof, configProof: toBoc(shown) };
  }
  return {
    getConfigAll: ({ mode, id }) => info(mode, id, showTree),
    getConfigParams: ({ mode, id, paramList }) =>
      info(mode, id, (config, visit) => showParameters(config, paramList, visit)),
  };
}

type LibraryEntry = LiteAnswer<'getLibraries'>['result'][number];

/**
 * `shared_lib_descr$00 lib:^Cell publishers:(Hashmap 256 True)`: those that exist of the libraries asked for.
 * @throws {LiteServerError} -400 for too many hashes
 */
export function readLibraries(state: Cell, hashes: readonly Hash[], visit: Visit): LibraryEntry[] {
  if (hashes.length > MAX_LIBRARIES) throw badRequest(`at most ${MAX_LIBRARIES} libraries in a call`);
  const libraries = showLibraries(state, visit);
  return hashes.flatMap((hash) => {
    const leaf = findLeaf(libraries, 256, hash, visit);
    return leaf === null ? [] : [{ hash, data: toBoc(leaf.ref()) }];
  });
}

export function libraryHandlers(chain: Chain, blocks: Blocks): LiteHandlers {
  return {
    getLibraries: ({ libraryList }) => ({
      result: readLibraries(blocks.state(chain.head().mc), libraryList, () => undefined),
    }),
    getLibrariesWithProof({ id, mode, libraryList }) {
      const master = blocks.master(id);
      const state = blocks.state(master);
      let result: LibraryEntry[] = [];
      const shown = prove(state, (visit) => {
        result = readLibraries(state, libraryList, visit);
      });
      const header = blocks.header(master, HEADER.stateUpdate);
      const stateProof = header === null ? Buffer.alloc(0) : toBoc(header);
      return { id: blockIdExtToTl(master), mode, result, stateProof, dataProof: toBoc(shown) };
    },
  };
}
