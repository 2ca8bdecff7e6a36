/** Stacks of get-methods as v3's `/runGetMethod` spells them: entries of a type and a value. */
import { type Cell, parseSent } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import { listItems, type StackValue } from '../../tvm/stack.ts';
import { ApiError, Refusal } from '../errors.ts';
import { type CellText, createCellText } from '../stack-cells.ts';
import { hexNumber, readStackNumber, told } from '../stack-number.ts';

/** An entry of an answer. */
export interface StackEntity {
  type: 'num' | 'cell' | 'slice' | 'tuple' | 'list';
  value: string | StackEntity[];
}

/** An entry of a request. */
export interface StackInput {
  type: string;
  value?: unknown;
}

/** Reads the `stack` of a request. Throws ApiError: 422, or 500 for a type that cannot be an argument. */
export function readEntities(inputs: readonly StackInput[]): StackValue[] {
  return inputs.map(({ type, value }) => {
    if (type === 'num') return { type: 'int', value: readNumber(value) };
    if (type === 'cell' || type === 'slice') return { type, cell: readCell(value, type) };
    throw new Refusal(500, `unsupported stack parameter type: ${type.slice(0, 64)}`);
  });
}

function readNumber(value: unknown): bigint {
  const read = readStackNumber(value);
  if (read === null) throw new ApiError(422, `invalid number: ${told(value)}`);
  return read;
}

function readCell(value: unknown, type: string): Cell {
  if (typeof value !== 'string' || value === '') throw new ApiError(422, `invalid ${type}: base64 of a bag of cells`);
  try {
    return parseSent(Buffer.from(value, 'base64'));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new ApiError(422, `invalid ${type}: ${error.message}`);
  }
}

/** Deepest nesting of tuples and lists in a result: the reference's. */
const RESULT_DEPTH = 100;

/**
 * The `stack` of an answer. A slice that stands on the stack itself comes as a cell, one in a tuple as a slice; null
 * as the list without entries.
 * Throws ApiError: 500 where its cells are too long, 501 for a builder, a continuation and NaN, 533 for what is nested too
 * deep.
 */
export function stackEntities(values: readonly StackValue[]): StackEntity[] {
  const cellText = createCellText();
  return values.map((value) =>
    value.type === 'slice' ? { type: 'cell', value: cellText(value.cell) } : entity(value, cellText, 1),
  );
}

function entity(value: StackValue, cellText: CellText, depth: number): StackEntity {
  switch (value.type) {
    case 'int':
      return { type: 'num', value: hexNumber(value.value) };
    case 'cell':
    case 'slice':
      return { type: value.type, value: cellText(value.cell) };
    case 'null':
    case 'tuple': {
      const items = listItems(value);
      if (items !== null) return { type: 'list', value: inner(items, cellText, depth) };
      return { type: 'tuple', value: inner(value.type === 'tuple' ? value.items : [], cellText, depth) };
    }
    default:
      throw new Refusal(501, `a ${value.type} of the result stack cannot be printed`);
  }
}

function inner(items: readonly StackValue[], cellText: CellText, depth: number): StackEntity[] {
  if (depth >= RESULT_DEPTH) throw new Refusal(533, `Result stack depth >= ${RESULT_DEPTH}`);
  return items.map((item) => entity(item, cellText, depth + 1));
}
