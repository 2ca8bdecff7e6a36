/**
 * How EVAA's contracts are spoken to (evaafi/contracts): messages to a user's contract have a header before their
 * opcode.
 */
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { coins, uint } from '../layouts/numbers.ts';
import { maybeCell, record } from '../layouts/shapes.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { messageOf } from './bodies.ts';
import { type JettonTransfer, jettonTransfer } from './jettons.ts';
import type { Group } from './kind.ts';
import type { Pattern } from './pattern.ts';
import { callContract, tonTransfer } from './ton.ts';

export const groups: readonly Group[] = ['v2', 'evaa'];

const header = record(null, { version: coins, upgrade_info: maybeCell, upgrade_exec: uint(2) });

/** The body of a message to a user's contract behind its header and opcode; null when it is another one. */
export function headed(block: Block, opcode: number): Cursor | null {
  try {
    const cursor = messageOf(block).body().cursor();
    header.read(cursor);
    return cursor.u(32) === opcode ? cursor : null;
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

/** A call of a user's contract. Behind a header of nothing but zeros it looks like a transfer, and is taken for one. */
export function userCall(opcode: number, more: Omit<Pattern, 'where' | 'op' | 'block'>): Pattern {
  return { block: callContract.block, where: (one) => headed(one, opcode) !== null, ...more };
}

export function payloadOf(transfer: JettonTransfer | null, opcode: number): Cursor | null {
  const payload = transfer?.forwardPayload;
  if (payload === null || payload === undefined || payload.opcode !== opcode) return null;
  const cursor = payload.cursor();
  cursor.skip(32);
  return cursor;
}

/** What TON or a jetton is sent with to the master. */
export function request(opcode: number, then: Pattern): Pattern {
  return {
    any: [
      { op: opcode, child: then },
      {
        block: jettonTransfer.block,
        where: (block) => payloadOf(jettonTransfer.of(block), opcode) !== null,
        child: then,
      },
    ],
  };
}

const THANKS: ReadonlySet<string | null> = new Set(['EVAA supply.', 'EVAA withdraw.', 'EVAA liquidation.']);

/** The rest of the value, sent on with a word about what was done. */
export const thanks: Pattern = {
  block: tonTransfer.block,
  where: (block) => THANKS.has(tonTransfer.of(block)?.comment().text ?? null),
  optional: true,
};

/** Asset id of TON. */
export const TON_ASSET = '0x1a4219fe5e60d63af2a3cc7dce6fec69b45c6b5718497a6148e7c232ac87bd8a';

export const hex256 = (id: Decimal): string => `0x${BigInt(id).toString(16)}`;
