/** What filters look for in what is printed of an action: its details, and the accounts that it is found by. */
import { rawAddress } from '../address.ts';
import { isBetween } from '../decimal.ts';
import type { ActionFilter } from '../records.ts';
import { type Details, LongNumber } from './details.ts';
import type { RawAddress } from './trace.ts';

/** What JSON makes of a long number, outside strings; texts may look like it, too. */
const MAYBE_LONG = /[:,[]\d(?:\d{15}|[\d.]*e\+)/;
/** Around the digits of a long number, of which actions that have one have nothing like it in their texts. */
const MARK = '\0';
const MARKED = /"\\u0000(\d+)\\u0000"/g;

/** What is stored of an action: JSON of the details, then the accounts that it is found by. */
export function contentOf(details: Details, accounts: readonly RawAddress[]): string {
  return exactJson([details, accounts]);
}

/** JSON of an action, or of a part of it, with long numbers in all their digits. */
export function exactJson(told: unknown): string {
  const text = JSON.stringify(told);
  if (!MAYBE_LONG.test(text)) return text;
  const marked = JSON.stringify(told, markLong);
  return marked === text ? text : marked.replaceAll(MARKED, '$1');
}

function markLong(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const own = this[key];
  return own instanceof LongNumber ? `${MARK}${own.digits}${MARK}` : value;
}

/** What {@link contentOf} wrote; of a long number what a double holds. */
export function readContent(content: string): [details: Details, accounts: RawAddress[]] {
  return JSON.parse(content);
}

type Facts = Readonly<Record<string, unknown>>;

/** What an action moved, in the smallest units of what it moved; null where it says no such thing. */
export function worthOf(details: Facts): string | null {
  const value = details.value ?? details.amount;
  return typeof value === 'string' && /^\d+$/.test(value) ? value : null;
}

/** The opcode that an action is told with; null where it is told with none. */
export function opcodeOf({ opcode }: Facts): number | null {
  return typeof opcode === 'string' ? Number(opcode) : null;
}

/** A test of the content of actions as the projection writes it; null where the filter asks nothing of it. */
export function contentTest({
  opcodes = [],
  jettons = [],
  value = {},
}: ActionFilter): ((content: string) => boolean) | null {
  const { start = null, end = null } = value;
  const isBounded = start !== null || end !== null;
  if (opcodes.length === 0 && jettons.length === 0 && !isBounded) return null;
  const masters = jettons.map(rawAddress);
  const wanted = new Set(opcodes);
  return (content) => {
    if (masters.length > 0 && !masters.some((master) => content.includes(master))) return false;
    if (wanted.size === 0 && !isBounded) return true;
    const [details] = readContent(content);
    const opcode = opcodeOf(details);
    if (wanted.size > 0 && (opcode === null || !wanted.has(opcode))) return false;
    return !isBounded || isBetween(worthOf(details), start, end);
  };
}
