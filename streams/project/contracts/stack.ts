/** What get-methods left, read as the types that a detector expects; anything else is not of the kind. */
import { addressOf, workchainOf } from '../../../src/chain/address.ts';
import { Builder, type Cell, Slice } from '../../../src/chain/builder.ts';
import { eachLeaf } from '../../../src/chain/dictionary.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import { CellView } from '../../../src/chain/layouts/cell-view.ts';
import type { Address, Decimal } from '../../../src/chain/model.ts';
import type { StackValue } from '../../../src/tvm/stack.ts';

/** The contract is not of the kind that it was asked for. */
export class OtherKind extends Error {
  override name = 'OtherKind';
}

const MOST = 2n ** 255n;

/** The values that a method returned, from the first one on. */
export class Results {
  constructor(private readonly values: readonly StackValue[]) {}

  get length(): number {
    return this.values.length;
  }

  at(place: number): StackValue {
    const value = this.values[place];
    if (value === undefined) throw new OtherKind(`${this.values.length} values, ${place + 1} are needed`);
    return value;
  }

  big(place: number): bigint {
    const value = this.at(place);
    if (value.type !== 'int') throw new OtherKind(`a ${value.type} where an integer is needed`);
    return value.value;
  }

  /** Of 256 bits with the sign. */
  int(place: number): Decimal {
    const value = this.big(place);
    if (value < -MOST || value >= MOST) throw new OtherKind('an integer of 257 bits');
    return value.toString();
  }

  uint(place: number, bits: number): Decimal {
    const value = this.big(place);
    if (value < 0n || value >= 1n << BigInt(bits)) throw new OtherKind(`no unsigned integer of ${bits} bits`);
    return value.toString();
  }

  u32(place: number): number {
    return Number(this.uint(place, 32));
  }

  flag(place: number): boolean {
    return this.big(place) !== 0n;
  }

  cell(place: number): Cell {
    const value = this.at(place);
    if (value.type !== 'cell') throw new OtherKind(`a ${value.type} where a cell is needed`);
    return value.cell;
  }

  cellOrNull(place: number): Cell | null {
    return this.at(place).type === 'null' ? null : this.cell(place);
  }

  view(place: number): CellView {
    return CellView.from(this.cell(place));
  }

  slice(place: number): Cell {
    const value = this.at(place);
    if (value.type !== 'slice') throw new OtherKind(`a ${value.type} where a slice is needed`);
    return value.cell;
  }

  address(place: number): Address {
    const address = readAddress(this.slice(place));
    if (address === null) throw new OtherKind('no address');
    return address;
  }

  /** Null for `addr_none`. */
  addressOrNone(place: number): Address | null {
    return readAddress(this.slice(place));
  }

  /** Null for a slice of nothing, not for `addr_none`. */
  addressOrEmpty(place: number): Address | null {
    return this.slice(place).bits === 0 ? null : this.address(place);
  }
}

/** `addr_std` without anycast and with nothing behind it, null for `addr_none` alone. Throws OtherKind for all else. */
function readAddress(cell: Cell): Address | null {
  return reading(() => {
    const slice = new Slice(cell);
    const tag = slice.u(2);
    if (tag === 0 && slice.bitsLeft === 0) return null;
    if (tag !== 2 || slice.bit()) throw new OtherKind('no standard address');
    const address = addressOf(slice.i(8), slice.bytes(32));
    if (slice.bitsLeft > 0 || slice.refsLeft > 0) throw new OtherKind('something behind an address');
    return address;
  });
}

/** Reads cells that a contract returned: what cannot be read is not of the kind. */
export function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) throw new OtherKind(error.message, { cause: error });
    throw error;
  }
}

export function addressCell(address: Address): Cell {
  return new Builder().u(0b100, 3).i(workchainOf(address), 8).bytes(address.subarray(4)).cell();
}

export function addressArgument(address: Address): StackValue {
  return { type: 'slice', cell: addressCell(address) };
}

export const intArgument = (value: bigint): StackValue => ({ type: 'int', value });

/**
 * Most entries of a dictionary that a contract returns: as many as a result may have values. A few cells that refer to
 * each other stand for any number, and a step may have a thousand such contracts.
 */
const MAX_ENTRIES = 1_000;

/** Entries of a dictionary by ascending key; a null root is the empty one. Throws OtherKind. */
export function entries<T>(root: Cell | null, keyBits: number, read: (leaf: Slice, key: Buffer) => T): T[] {
  const found: T[] = [];
  return reading(() => {
    eachLeaf(root, keyBits, (leaf, key) => {
      if (found.length === MAX_ENTRIES) throw new OtherKind(`a dictionary of more than ${MAX_ENTRIES} entries`);
      found.push(read(leaf, key));
    });
    return found;
  });
}

/** A `MsgAddressInt` in a slice. Throws DecodeError and OtherKind. */
export function addressIn(slice: Slice): Address {
  slice.tag(2, 2, 'addr_std');
  if (slice.bit()) throw new OtherKind('anycast address');
  return addressOf(slice.i(8), slice.bytes(32));
}

export const sameAddress = (a: Address, b: Address): boolean => hashKey(a) === hashKey(b);
