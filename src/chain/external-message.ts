/** Messages from outside the chain (`ext_in_msg_info$10`: crypto/block/block.tlb) as people send them. */
import { workchainOf } from './address.ts';
import { type Boc, openBoc } from './boc.ts';
import { Builder, type Cell, parseBoc, Slice } from './builder.ts';
import { eachLeaf } from './dictionary.ts';
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
 * Levels of cells that a message can have: from outside (`max_ext_msg_depth` of ConfigParam 43 where it is not set), and
 * from a contract, whose actions are no deeper (`max_vm_data_depth`). The executor breaks down somewhere above.
 */
export const MAX_MESSAGE_DEPTH = 512;

/** The bag of cells of one message that was sent. Throws DecodeError. */
export function openSent(bytes: Buffer): Boc {
  return openBoc(bytes, { maxRoots: 1, maxDepth: MAX_MESSAGE_DEPTH });
}

/**
 * Refuses what no node takes apart though it has the form of a message: a body that is an exotic cell itself (the TVM
 * is given it as a slice), a StateInit that is none, and Merkle cells that name other hashes than those of what is
 * below. Throws DecodeError.
 */
export function checkSent(boc: Boc, message: Message): void {
  verifyAllMerkle(boc);
  const { init } = message;
  if (init !== null) section('init', () => checkInit(new Slice(parseBoc(init.boc()))));
  section('body', () => bodyCursor(message));
}

/** Cells of the dictionary of libraries that are looked at (`validate_ref` of nodes gives up after as many steps). */
const MAX_LIBRARY_CELLS = 1_024;

/** `StateInitWithLibs` (fixed_prefix_length, special, code, data, library), and nothing behind it. */
function checkInit(slice: Slice): void {
  let cells = 0;
  // A few cells that refer to each other stand for any number of libraries.
  const count = (): void => {
    if (++cells > MAX_LIBRARY_CELLS) throw new DecodeError(`more than ${MAX_LIBRARY_CELLS} cells of libraries`);
  };
  if (slice.bit()) slice.skip(5);
  if (slice.bit()) slice.skip(2);
  slice.maybeRef();
  slice.maybeRef();
  // `SimpleLib`: public, root.
  const checkLibrary = (library: Slice): void => {
    library.skip(1).ref();
    checkEnd(library, 'a library');
  };
  eachLeaf(slice.maybeRef(), 256, checkLibrary, count);
  checkEnd(slice, 'a StateInit');
}

function checkEnd({ bitsLeft, refsLeft }: Slice, what: string): void {
  if (bitsLeft > 0 || refsLeft > 0) throw new DecodeError(`${bitsLeft} bits, ${refsLeft} references behind ${what}`);
}

/** Reads a bag of cells that is one external message. Throws DecodeError. */
export function readExternalMessage(bytes: Buffer): ExternalMessage {
  if (bytes.length > MAX_EXTERNAL_BYTES) {
    throw new DecodeError(`an external message of ${bytes.length} bytes, ${MAX_EXTERNAL_BYTES} at most`);
  }
  const boc = openSent(bytes);
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
