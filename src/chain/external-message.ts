/** Messages from outside the chain (`ext_in_msg_info$10`: crypto/block/block.tlb) as people send them. */
import { workchainOf } from './address.ts';
import { type Boc, openBoc } from './boc.ts';
import { Builder, type Cell } from './builder.ts';
import { DecodeError, section } from './errors.ts';
import { verifyAllMerkle } from './hash.ts';
import { bodyCursor, decodeMessage } from './message.ts';
import type { Address, Hash, Message } from './model.ts';

export interface ExternalMessage {
  destination: Address;
  /** Of the message cell as it was sent. */
  hash: Hash;
  /** Of the same message in its one normal form (TEP 467). */
  hashNorm: Hash;
}

/** What nodes take, in bytes (`max_ext_msg_size` of ConfigParam 43 where it is not set). */
export const MAX_EXTERNAL_BYTES = 65_535;

/**
 * Refuses what no node takes apart though it has the form of a message: a body that is an exotic cell itself (the TVM
 * is given it as a slice), and Merkle cells that name other hashes than those of what is below. Throws DecodeError.
 */
export function checkSent(boc: Boc, message: Message): void {
  verifyAllMerkle(boc);
  section('body', () => bodyCursor(message));
}

/** Reads a bag of cells that is one external message. Throws DecodeError. */
export function readExternalMessage(bytes: Buffer): ExternalMessage {
  if (bytes.length > MAX_EXTERNAL_BYTES) {
    throw new DecodeError(`an external message of ${bytes.length} bytes, ${MAX_EXTERNAL_BYTES} at most`);
  }
  const boc = openBoc(bytes, { maxRoots: 1 });
  const message = decodeMessage(boc, boc.roots[0]);
  checkSent(boc, message);
  const { kind, destination, hash } = message;
  const hashNorm = message.hashNorm();
  if (hashNorm === null || destination === null) throw new DecodeError(`a message of kind ${kind}, not external_in`);
  return { destination, hash, hashNorm };
}

/** Code and data that a message brings. */
export interface ContractInit {
  code: Cell | null;
  data: Cell | null;
}

/** What a cell holds: `cell#_ {n:#} {m:#}` of the TVM. */
const CELL_BITS = 1023;
const CELL_REFS = 4;

/**
 * The StateInit in the message itself, and the body as well where it has room and is no exotic cell, else in a cell of
 * its own: as tonlib writes it, whose estimates count every other cell.
 */
export function writeExternalMessage(message: { address: Address; body: Cell; init: ContractInit | null }): Cell {
  const { address, body, init } = message;
  const builder = new Builder().u(2, 2).u(0, 2).u(4, 3).i(workchainOf(address), 8).bytes(address.subarray(4)).grams(0n);
  if (init === null) builder.bit(0);
  else builder.u(2, 2).u(0, 2).maybeRef(init.code).maybeRef(init.data).bit(0);
  const refs = [init?.code, init?.data].filter((cell) => cell != null).length;
  const hasRoom = !body.exotic && builder.bits + 1 + body.bits <= CELL_BITS && refs + body.refs.length <= CELL_REFS;
  return (hasRoom ? builder.bit(0).append(body) : builder.bit(1).ref(body)).cell();
}
