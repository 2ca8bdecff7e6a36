/** What a contract looks like from its code hash and its get-methods: marks of TON Center's `interfaces`. */
import { openBoc } from './boc.ts';
import { crc16 } from './crc.ts';
import { Cursor } from './cursor.ts';
import { DecodeError } from './errors.ts';
import { walkHashmap } from './hashmap.ts';
import { INTERFACE_MARKS, WALLET_CODES } from './interface-marks.ts';
import type { Hash } from './model.ts';

interface Candidate {
  name: string;
  /** All ids but the one it is filed under. */
  others: number[];
}

const MARK_BY_CODE = new Map<string, string>();
const MARKS_BY_METHOD = new Map<number, Candidate[]>();
const WALLETS = new Set(WALLET_CODES);

/** The id a get-method has in the code's dictionary: CRC-16 of its name with bit 16 set. */
export function methodId(name: string): number {
  return crc16(Buffer.from(name)) | 0x10000;
}

for (const mark of INTERFACE_MARKS) {
  for (const code of mark.codes) MARK_BY_CODE.set(code, mark.name);
  if (mark.methods.length === 0) continue;
  const [first, ...others] = mark.methods.map(methodId);
  const filed = MARKS_BY_METHOD.get(first) ?? [];
  filed.push({ name: mark.name, others });
  MARKS_BY_METHOD.set(first, filed);
}

/** A known code hash gives its one mark; otherwise every mark whose get-methods are all present, sorted by name. */
export function interfacesOf(codeHash: Hash | null, methods: readonly number[] | null): string[] {
  const known = codeHash === null ? undefined : MARK_BY_CODE.get(codeHash.toString('base64'));
  if (known !== undefined) return [known];
  if (methods === null || methods.length === 0) return [];
  const present = new Set(methods);
  const marks: string[] = [];
  for (const id of present) {
    for (const mark of MARKS_BY_METHOD.get(id) ?? []) {
      if (mark.others.every((other) => present.has(other))) marks.push(mark.name);
    }
  }
  return marks.sort();
}

/** Accounts without code and the eleven listed wallets are written non-bounceable in the address book. */
export function isBounceable(codeHash: Hash | null): boolean {
  return codeHash !== null && !WALLETS.has(codeHash.toString('base64'));
}

const SETCP_0 = 0xff00;
/** `DICTPUSHCONST`: 14 bits F4A4_, then the key length in 10 bits; the dictionary is the next reference. */
const DICTPUSHCONST = 0xf4a4 >> 2;
const LONGEST_KEY = 32;

/**
 * The get-method ids of a contract, ascending: the keys of the dictionary that its code starts with (`SETCP 0`,
 * `DICTPUSHCONST`), as unsigned numbers. Null for code of another shape, library references and unreadable bytes.
 */
export function methodIds(codeBoc: Buffer): number[] | null {
  try {
    const boc = openBoc(codeBoc);
    const code = new Cursor(boc, boc.roots[0]);
    if (code.bitsLeft < 40 || code.refsLeft < 1) return null;
    if (code.u(16) !== SETCP_0 || code.u(14) !== DICTPUSHCONST) return null;
    const keyBits = code.u(10);
    if (keyBits < 1 || keyBits > LONGEST_KEY) return null;
    return dictionaryKeys(code, keyBits);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function dictionaryKeys(code: Cursor, keyBits: number): number[] {
  const ids: number[] = [];
  const bytes = (keyBits + 7) >> 3;
  const spare = bytes * 8 - keyBits;
  walkHashmap(code.boc, code.nextRef(), {
    keyBits,
    leaf: (_value, key) => ids.push(Math.floor(key.readUIntBE(0, bytes) / 2 ** spare)),
  });
  return ids;
}
