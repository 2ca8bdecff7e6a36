import type { Boc } from '../../src/chain/boc.ts';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { DecodeError } from '../../src/chain/errors.ts';
import { completeCells } from '../../src/chain/merge.ts';

/** A tree of a block as a bag of its own; null when the block prunes part of it or it is no readable tree. */
export function wholeCells(block: Boc, cell: number): Buffer | null {
  return orNull(() => completeCells(block, cell));
}

/** The bag as it is stored: equal trees give equal bytes. Null when it is no readable tree. */
export function storedForm(boc: Buffer): Buffer | null {
  return orNull(() => canonicalBoc(boc));
}

/**
 * A block may be well-formed down to its accounts and hold code or data that is not (levels that lie, say): those are
 * cells that cannot be known, no reason to leave out the block.
 */
export function orNull<T>(read: () => T | null): T | null {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}
