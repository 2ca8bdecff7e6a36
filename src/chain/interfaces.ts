/** What a contract looks like from its code hash and its get-methods: marks of TON Center's `interfaces`. */
import { crc16 } from './address.ts';
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
