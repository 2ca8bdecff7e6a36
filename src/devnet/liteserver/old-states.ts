import { PRUNED } from '../../chain/boc.ts';
import { Cell } from '../../chain/builder.ts';
import { findLeaf } from '../../chain/dictionary.ts';
import { KEY_BITS } from '../augmentations.ts';
import { readMcExtra } from '../masterchain.ts';
import { mcStateExtra } from './proofs.ts';

/**
 * What a masterchain block's state update shows of the state after it, with the ways to older blocks filled in: for
 * proofs from states that are no longer kept. The update shows `McStateExtra` and of `OldMcBlocksInfo` what changed;
 * parts of that dictionary that were finished by then stand unchanged in the state of the head.
 * @param seqnos of the older blocks
 */
export function stateOfUpdate(block: Cell, head: Cell, seqnos: readonly number[]): Cell {
  const update = block.refs[2];
  const finished = new Map<string, Cell>();
  const { root } = readMcExtra(mcStateExtra(head)).mcBlocks;
  for (const seqno of seqnos) {
    const key = Buffer.alloc(4);
    key.writeUInt32BE(seqno);
    findLeaf(root, KEY_BITS.mcBlocks, key, (cell) => void finished.set(cell.key(0), cell));
  }
  const state = update.refs[1];
  const extra = mcStateExtra(state);
  const rest = extra.refs[extra.refs.length - 1];
  return replaced(state, extra, replaced(extra, rest, filled(rest, finished)));
}

/** The tree with pruned branches that are known put back. */
function filled(cell: Cell, known: ReadonlyMap<string, Cell>): Cell {
  if (cell.type === PRUNED) return known.get(cell.key(0)) ?? cell;
  if (cell.levelMask === 0) return cell;
  return new Cell(
    cell.data,
    cell.bits,
    cell.refs.map((ref) => filled(ref, known)),
    cell.exotic,
  );
}

function replaced(cell: Cell, old: Cell, by: Cell): Cell {
  return new Cell(
    cell.data,
    cell.bits,
    cell.refs.map((ref) => (ref === old ? by : ref)),
    cell.exotic,
  );
}
