/**
 * Transactions as column `places` of `traces` has them: one behind another, each its account and its logical time,
 * big-endian.
 */
import type { Address, Decimal } from '../../src/chain/model.ts';

export const ACCOUNT_BYTES = 36;
export const PLACE_BYTES = ACCOUNT_BYTES + 8;
const EXACT_DIGITS = 15;
const TWO_32 = 0x1_0000_0000;

export function writePlace(account: Address, lt: Decimal): Buffer {
  const place = Buffer.allocUnsafe(PLACE_BYTES);
  account.copy(place);
  putLt(place, lt);
  return place;
}

/** Up to 15 digits are exact as a number, which all lts of the next centuries are. */
function putLt(place: Buffer, lt: Decimal): void {
  if (lt.length > EXACT_DIGITS) {
    place.writeBigUInt64BE(BigInt(lt), ACCOUNT_BYTES);
    return;
  }
  const value = Number(lt);
  place.writeUInt32BE(Math.floor(value / TWO_32), ACCOUNT_BYTES);
  place.writeUInt32BE(value % TWO_32, ACCOUNT_BYTES + 4);
}

/** The account is a view of the place. */
export function readPlace(place: Buffer): { account: Address; lt: Decimal } {
  return { account: place.subarray(0, ACCOUNT_BYTES), lt: place.readBigUInt64BE(ACCOUNT_BYTES).toString() };
}
