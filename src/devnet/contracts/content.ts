/** Token content as TEP-64 lays it out. */
import { createHash } from 'node:crypto';
import { beginCell, Cell, Dictionary } from '@ton/core';

const ON_CHAIN = 0;
const SNAKE = 0;

/** Content kept in the contract: a dictionary of SHA-256 of the key to the value as a snake of bytes. */
export function onChainContent(values: Record<string, string>): Cell {
  const entries = Dictionary.empty(Dictionary.Keys.Buffer(32), Dictionary.Values.Cell());
  for (const [key, value] of Object.entries(values)) {
    entries.set(createHash('sha256').update(key).digest(), snake(Buffer.from(value), SNAKE));
  }
  return beginCell().storeUint(ON_CHAIN, 8).storeDict(entries).endCell();
}

/** Bytes of text and nothing else, for what is continued or continues. */
export function bareText(text: string): Cell {
  return snake(Buffer.from(text), null);
}

const FIRST_BYTES = 126;
const NEXT_BYTES = 127;

function snake(bytes: Buffer, tag: number | null): Cell {
  const rest: Buffer[] = [];
  for (let at = FIRST_BYTES; at < bytes.length; at += NEXT_BYTES) rest.push(bytes.subarray(at, at + NEXT_BYTES));
  const tail = rest.reduceRight<Cell | null>((next, part) => chained(beginCell().storeBuffer(part), next), null);
  const head = tag === null ? beginCell() : beginCell().storeUint(tag, 8);
  return chained(head.storeBuffer(bytes.subarray(0, FIRST_BYTES)), tail);
}

function chained(builder: ReturnType<typeof beginCell>, next: Cell | null): Cell {
  return (next === null ? builder : builder.storeRef(next)).endCell();
}

/** Code out of base64. */
export function codeCell(boc: string): Cell {
  return Cell.fromBase64(boc);
}
