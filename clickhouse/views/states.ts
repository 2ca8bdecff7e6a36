/** The `states` column of a transaction (clickhouse/states.ts) read in SQL. */

const BEFORE = 1;
const AFTER = 2;
const HASHES = 4 + 8 + 16;
const FROZEN = 4;
const CODE = 8;
const EXTRA = 32;

/** The byte at a place that counts from 1. */
const byte = (states: string, at: string): string => `reinterpretAsUInt8(substring(${states}, ${at}, 1))`;

/** Where the state that begins at a place ends: the place behind it. */
function endOf(states: string, at: string): string {
  const plain = `${at} + 2 + ${byte(states, `${at} + 1`)} + 32 * bitCount(bitAnd(${byte(states, at)}, ${HASHES}))`;
  const count = `reinterpretAsUInt16(substring(${states}, ${plain}, 2))`;
  // Two texts for each currency, each with its length before it.
  const texts = `arrayFold((place, i) -> toUInt64(place + 1 + ${byte(states, 'place')}), range(2 * ${count}), toUInt64(${plain} + 2))`;
  return `if(bitAnd(${byte(states, at)}, ${EXTRA}) = 0, toUInt64(${plain}), ${texts})`;
}

/** Place of the state after; meaningless without one. */
const after = (states: string): string =>
  `if(bitAnd(${byte(states, '1')}, ${BEFORE}) = 0, toUInt64(2), ${endOf(states, '2')})`;

const knows = (states: string, side: number): string => `bitAnd(${byte(states, '1')}, ${side}) != 0`;

/** Nanotons; NULL where the state is not known. */
export const balanceAfter = (states: string): string => {
  const at = after(states);
  return `toDecimal128OrNull(if(${knows(states, AFTER)}, substring(${states}, ${at} + 2, ${byte(states, `${at} + 1`)}), ''), 0)`;
};

/** Base64; NULL where there is none or it is not known. */
export const codeHashAfter = (states: string): string => {
  const at = after(states);
  const place = `${at} + 2 + ${byte(states, `${at} + 1`)} + if(bitAnd(${byte(states, at)}, ${FROZEN}) = 0, 0, 32)`;
  return `if(${knows(states, AFTER)} AND bitAnd(${byte(states, at)}, ${CODE}) != 0, base64Encode(substring(${states}, ${place}, 32)), NULL)`;
};
