/** What filters look for in what is printed of an action: its details, and the accounts that it is found by. */
import { rawAddress } from '../address.ts';
import { isBetween } from '../decimal.ts';
import type { ActionFilter } from '../records.ts';

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
    const [details]: [Facts] = JSON.parse(content);
    const opcode = opcodeOf(details);
    if (wanted.size > 0 && (opcode === null || !wanted.has(opcode))) return false;
    return !isBounded || isBetween(worthOf(details), start, end);
  };
}
