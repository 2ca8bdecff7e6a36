/** Cells of a result stack as both APIs print them. */
import { type Cell, toBoc } from '../chain/builder.ts';
import { Refusal } from './errors.ts';

/**
 * Characters of all cells of one answer: more than the largest account takes (65,536 cells). Contracts leave a cell as
 * often as they like for next to no gas, and each time it is written out.
 */
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** Base64 of a bag of cells. Throws Refusal 500 where those of one answer are too long together. */
export type CellText = (cell: Cell) => string;

/** For the cells of one answer. */
export function createCellText(): CellText {
  let left = MOST_CHARACTERS;
  return (cell) => {
    const text = toBoc(cell).toString('base64');
    left -= text.length;
    // In the words of the reference for what is too much.
    if (left < 0) throw new Refusal(500, 'TVM stack size exceeds limit');
    return text;
  };
}
