import { type Cell, Slice, type Visit } from '../../chain/builder.ts';
import { findLeaf } from '../../chain/dictionary.ts';
import type { Hash } from '../../chain/model.ts';
import { merkleProof } from '../../chain/proof.ts';
import { depthBalance, KEY_BITS, readCoins } from '../augmentations.ts';

/** Walks what a proof is about; the cells it visits are shown, all others pruned. */
export type Show = (visit: Visit) => void;

/** The Merkle proof of a tree that shows what is visited. */
export function prove(root: Cell, show: Show): Cell {
  const shown = new Set<string>();
  show((cell) => void shown.add(cell.key()));
  return merkleProof(root, (cell) => shown.has(cell.key()));
}

/** Shows a whole tree. */
export function showTree(root: Cell, visit: Visit): void {
  const seen = new Set<Cell>();
  const walk = (cell: Cell): void => {
    if (seen.has(cell)) return;
    seen.add(cell);
    visit(cell);
    cell.refs.forEach(walk);
  };
  walk(root);
}

/** Bits of `getBlockHeader`'s mode: parts shown besides the `BlockInfo`. */
export const HEADER = { stateUpdate: 1, valueFlow: 2, extra: 16, shardHashes: 32, signatures: 64 } as const;

/** The parts of a block (`block#11ef55aa`). */
export function blockParts(block: Cell): { info: Cell; valueFlow: Cell; stateUpdate: Cell; extra: Cell } {
  const [info, valueFlow, stateUpdate, extra] = block.refs;
  return { info, valueFlow, stateUpdate, extra };
}

/**
 * Shows a block's header. Clients read `prev_ref` and `master_ref`, so `BlockInfo` comes with all below it; of the state
 * update its own cell, which names the hashes of both states.
 */
export function showHeader(block: Cell, mode: number, visit: Visit): void {
  const { info, valueFlow, stateUpdate, extra } = blockParts(block);
  visit(block);
  showTree(info, visit);
  if (mode & HEADER.stateUpdate) visit(stateUpdate);
  if (mode & HEADER.valueFlow) showTree(valueFlow, visit);
  if (mode & (HEADER.extra | HEADER.shardHashes | HEADER.signatures)) showExtra(extra, mode, visit);
}

/** `BlockExtra`, and in masterchain blocks `McBlockExtra`: its first cells hold shards, fees and signatures. */
function showExtra(extra: Cell, mode: number, visit: Visit): void {
  visit(extra);
  const custom = extra.refs[3];
  if (custom === undefined) return;
  visit(custom);
  const shards = shardHashesOf(custom, visit);
  if (mode & HEADER.shardHashes && shards !== null) showTree(shards, visit);
  if (mode & HEADER.signatures) {
    const slice = mcBlockExtra(custom);
    slice.maybeRef();
    slice.maybeRef();
    showTree(slice.ref(), visit);
  }
}

function mcBlockExtra(custom: Cell, visit: Visit | null = null): Slice {
  return new Slice(custom, visit).tag(16, 0xcca5, 'McBlockExtra').skip(1);
}

/** Shows the way to the configuration of a key block: the last cell of its `McBlockExtra`. */
export function showBlockConfig(block: Cell, visit: Visit): Cell {
  showHeader(block, HEADER.extra, visit);
  const custom = blockParts(block).extra.refs[3];
  return custom.refs[custom.refs.length - 1];
}

/** `ShardHashes` of a masterchain block's or state's extra; null when no shard is registered. */
function shardHashesOf(custom: Cell, visit: Visit): Cell | null {
  const isBlock = new Slice(custom).u(16) === 0xcca5;
  return (isBlock ? mcBlockExtra(custom, visit) : new Slice(custom, visit).skip(16)).maybeRef();
}

/** Shows the way to the `ShardHashes` of a masterchain block. */
export function showBlockShards(block: Cell, visit: Visit): Cell | null {
  const { extra } = blockParts(block);
  visit(block);
  visit(extra);
  const custom = extra.refs[3];
  return custom === undefined ? null : shardHashesOf(custom, visit);
}

/** A state's own cell and its third: readers of a state read the balances and references in it, whatever they seek. */
export function showState(state: Cell, visit: Visit): void {
  visit(state);
  visit(state.refs[2]);
}

/**
 * Shows the way to the `ShardHashes` of a masterchain state. Readers of `McStateExtra` read its `^[ flags ... ]`, too, as
 * nodes show it.
 */
export function showStateShards(state: Cell, visit: Visit): Cell | null {
  showState(state, visit);
  const extra = mcStateExtra(state);
  visit(extra.refs[extra.refs.length - 1]);
  return shardHashesOf(extra, visit);
}

/** `McStateExtra`, the fourth cell of a masterchain state. */
export function mcStateExtra(state: Cell): Cell {
  const custom = state.refs[3];
  if (custom === undefined) throw new Error('masterchain state without its extra');
  return custom;
}

/** What a `ShardAccount` says; the account's cell is not visited. */
export interface AccountLeaf {
  account: Cell;
  lastTransactionHash: Hash;
  lastTransactionLt: bigint;
}

/** Shows the way to an account in a shard state, or to where it would be. */
export function showAccount(state: Cell, hash: Hash, visit: Visit): AccountLeaf | null {
  showState(state, visit);
  const root = new Slice(state.refs[1], visit).maybeRef();
  const leaf = findLeaf(root, KEY_BITS.account, hash, visit);
  if (leaf === null) return null;
  depthBalance.read(leaf);
  return { account: leaf.ref(), lastTransactionHash: leaf.bytes(32), lastTransactionLt: leaf.big(64) };
}

/** Shows the way to the libraries of a state (`libraries:(HashmapE 256 LibDescr)`); null when there are none. */
export function showLibraries(state: Cell, visit: Visit): Cell | null {
  visit(state);
  // The third cell: load histories, balance, fees, then libraries.
  const totals = new Slice(state.refs[2], visit).skip(128);
  readCoins(totals);
  readCoins(totals);
  return totals.maybeRef();
}
