import { rawAddress } from '../address.ts';
import { toBoc } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import type { CellView } from '../layouts/cell-view.ts';
import type { Codec } from '../layouts/codec.ts';
import type { Address, Decimal } from '../model.ts';
import type { Block } from './block.ts';
import type { RawAddress, TraceMessage } from './trace.ts';

/** The message of a block of one node. Throws DecodeError for a tick-tock, which has none. */
export function messageOf(block: Block): TraceMessage {
  const { message } = block.node;
  if (message === null) throw new DecodeError('no message');
  return message;
}

/** Who sent the block's message. Throws DecodeError for an external message. */
export function sourceOf(block: Block): RawAddress {
  const { source } = messageOf(block);
  if (source === null) throw new DecodeError('no source');
  return source;
}

/** Who received the block's message. Throws DecodeError for a log. */
export function destinationOf(block: Block): RawAddress {
  const { destination } = messageOf(block);
  if (destination === null) throw new DecodeError('no destination');
  return destination;
}

/** The value of the block's message, 0 for an external one. */
export function sentValue(block: Block): Decimal {
  return messageOf(block).value ?? '0';
}

/** Reads the body of the block's message. Throws DecodeError when it is not of the layout. */
export function readBody<T>(block: Block, layout: Codec<T>): T {
  return layout.read(messageOf(block).body().cursor());
}

/** Reads the body, null when it is not of the layout. */
export function tryBody<T>(block: Block, layout: Codec<T>): T | null {
  try {
    return readBody(block, layout);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

export function addressText(address: Address): RawAddress;
export function addressText(address: Address | null): RawAddress | null;
export function addressText(address: Address | null): RawAddress | null {
  return address === null ? null : rawAddress(address);
}

/** The next bits as a number in lower-case hex without leading zeros. */
export function numberHex(cursor: Cursor, bits: number): string {
  const STEP = 48;
  let value = 0n;
  for (let left = bits; left > 0; left -= STEP) {
    const count = Math.min(left, STEP);
    value = (value << BigInt(count)) | BigInt(cursor.u(count));
  }
  return value.toString(16);
}

/**
 * A payload as the API prints it: base64 of a bag of cells, with a checksum or without. The cells stand in the order
 * of a walk from the root, whatever their order was where they were read.
 */
export function bagText(view: CellView, { crc }: { crc: boolean }): string {
  return toBoc(view.build(), { crc }).toString('base64');
}
