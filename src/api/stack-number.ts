/** Numbers of stacks as both APIs spell them. */
import { fitsTvm } from '../tvm/stack.ts';

const NUMBER = /^(-?)(0x[0-9a-fA-F]{1,65}|\d{1,78})$/;

/** An integer of JSON, or decimal or `0x` text with a sign before it; null for anything else, and beyond 257 bits. */
export function readStackNumber(value: unknown): bigint | null {
  const isInteger = typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
  const text = isInteger ? BigInt(value).toString() : value;
  const match = typeof text === 'string' ? NUMBER.exec(text) : null;
  if (match === null) return null;
  const read = BigInt(match[2]) * (match[1] === '-' ? -1n : 1n);
  return fitsTvm(read) ? read : null;
}

/** A value of a request for an error that tells of it: what is no scalar is told by its kind alone. */
export function told(value: unknown, longest = 100): string {
  return ['string', 'number', 'bigint'].includes(typeof value) ? String(value).slice(0, longest) : typeof value;
}

/** `-0x1f`: the sign before the prefix, lower case, without padding. */
export function hexNumber(value: bigint): string {
  return value < 0n ? `-0x${(-value).toString(16)}` : `0x${value.toString(16)}`;
}
