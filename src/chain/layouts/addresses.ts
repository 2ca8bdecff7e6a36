/** `MsgAddress` and its parts (crypto/block/block.tlb). */

import { addressOf, workchainOf } from '../address.ts';
import type { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { Address } from '../model.ts';
import type { Codec } from './codec.ts';
import { bitHex } from './numbers.ts';

const NONE = 0;
const EXTERNAL = 1;
const STANDARD = 2;
const MAX_ANYCAST_DEPTH = 30;

/**
 * `MsgAddress`: null for none and for an external address. An anycast or variable-length address is refused when read
 * and printed in full when printed.
 */
export const address: Codec<Address | null> = {
  read(cursor) {
    const found = readPlaced(cursor);
    return typeof found === 'string' ? null : found;
  },
  write(builder, value) {
    if (value === null) builder.u(NONE, 2);
    else writeInternal(builder, value);
  },
  print(cursor) {
    const tag = cursor.u(2);
    if (tag === NONE) return '{"@type":"addr_none"}';
    return tag === EXTERNAL ? printExternal(cursor) : printInternal(cursor, tag);
  },
  sample: (chance) => (chance.below(3) === 0 ? null : internalAddress.sample(chance)),
};

/** What stands where no internal address does. */
export type Placeholder = 'addr_none' | 'addr_extern';

/** {@link address}, with none and external ones told apart. */
export const placedAddress: Codec<Address | Placeholder> = {
  read: readPlaced,
  write(builder, value) {
    if (value === 'addr_none') builder.u(NONE, 2);
    else if (value === 'addr_extern') builder.u(EXTERNAL, 2).u(0, 9);
    else writeInternal(builder, value);
  },
  print: address.print,
  sample: (chance) => (chance.below(3) === 0 ? 'addr_extern' : (address.sample(chance) ?? 'addr_none')),
};

/** `MsgAddressInt`: none and external addresses do not belong here. */
export const internalAddress: Codec<Address> = {
  read: (cursor) => readInternal(cursor, internalTag(cursor)),
  write: writeInternal,
  print: (cursor) => printInternal(cursor, internalTag(cursor)),
  sample: (chance) => addressOf(chance.below(2) - 1, chance.bytes(32)),
};

/** {@link address} of any of several accounts, too: what it begins with is passed over. */
export const anyAddress: Codec<Address | null> = {
  ...address,
  read(cursor) {
    const { at } = cursor;
    if (cursor.u(2) === STANDARD && cursor.bit()) {
      const depth = cursor.u(5);
      if (depth === 0) throw new DecodeError('anycast depth 0');
      cursor.skip(depth);
      return cursor.address(cursor.i(8));
    }
    cursor.at = at;
    return address.read(cursor);
  },
};

/** `MsgAddressInt` that contracts leave out all the same: read as null then, though the decoder does not print it. */
export const missableAddress: Codec<Address | null> = {
  read: address.read,
  write: address.write,
  print: internalAddress.print,
  sample: internalAddress.sample,
};

/** A standard address or none, as contracts keep them in their data: null for none, anything else is refused. */
export const addressOrNone: Codec<Address | null> = {
  ...address,
  read(cursor) {
    const tag = cursor.u(2);
    return tag === NONE ? null : readInternal(cursor, tag);
  },
};

/** `MsgAddressExt`, whose bits nobody asks for. */
export const externalAddress: Codec<null> = {
  read(cursor) {
    if (externalTag(cursor) === EXTERNAL) cursor.skip(cursor.u(9));
    return null;
  },
  write: (builder) => builder.u(NONE, 2),
  print: (cursor) => (externalTag(cursor) === NONE ? '{"@type":"addr_none"}' : printExternal(cursor)),
  sample: () => null,
};

function readPlaced(cursor: Cursor): Address | Placeholder {
  const tag = cursor.u(2);
  if (tag === NONE) return 'addr_none';
  if (tag !== EXTERNAL) return readInternal(cursor, tag);
  cursor.skip(cursor.u(9));
  return 'addr_extern';
}

function externalTag(cursor: Cursor): number {
  const tag = cursor.u(2);
  if (tag > EXTERNAL) throw new DecodeError('internal address where an external one belongs');
  return tag;
}

function internalTag(cursor: Cursor): number {
  const tag = cursor.u(2);
  if (tag < STANDARD) throw new DecodeError('no internal address');
  return tag;
}

function readInternal(cursor: Cursor, tag: number): Address {
  if (tag !== STANDARD) throw new DecodeError('address of variable length');
  if (cursor.bit()) throw new DecodeError('anycast address');
  return cursor.address(cursor.i(8));
}

function writeInternal(builder: Builder, value: Address): void {
  builder.u(0b100, 3).i(workchainOf(value), 8).bytes(value.subarray(4));
}

function printExternal(cursor: Cursor): string {
  const length = cursor.u(9);
  return `{"@type":"addr_external","len":"${length}","external_address":"${bitHex(cursor, length)}"}`;
}

function printInternal(cursor: Cursor, tag: number): string {
  const anycast = printAnycast(cursor);
  if (tag === STANDARD) {
    const workchain = cursor.i(8);
    return `{"@type":"addr_std","anycast":${anycast},"workchain_id":"${workchain}","address":"${bitHex(cursor, 256)}"}`;
  }
  const length = cursor.u(9);
  const workchain = cursor.i(32);
  return (
    `{"@type":"addr_var","anycast":${anycast},"addr_len":"${length}","workchain_id":"${workchain}"` +
    `,"address":"${bitHex(cursor, length)}"}`
  );
}

function printAnycast(cursor: Cursor): string {
  if (!cursor.bit()) return '{"@type":"nothing_from_maybe"}';
  const depth = cursor.u(5);
  if (depth < 1 || depth > MAX_ANYCAST_DEPTH) throw new DecodeError(`anycast depth ${depth}`);
  const prefix = `{"@type":"anycast_info","depth":"${depth}","rewrite_pfx":"${bitHex(cursor, depth)}"}`;
  return `{"@type":"something_from_maybe","value":${prefix}}`;
}
