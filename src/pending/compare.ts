/** Whether a trace came as it was emulated: the same accounts, opcodes, values and exit codes in the same tree. */
import { rawAddress } from '../chain/address.ts';
import { compareDecimal } from '../chain/decimal.ts';
import { hashKey } from '../chain/hash.ts';
import type { Transaction } from '../chain/model.ts';

interface Seen {
  transaction: Transaction;
}

/**
 * `near`: but for values that differ by what storage costs for a few seconds, where a contract sends all it has: the
 * block came later than was thought.
 */
export type Likeness = 'same' | 'near' | 'other';

export interface Comparison {
  likeness: Likeness;
  /** One of its accounts did something else between the state it was emulated on and the trace, or within the trace. */
  raced: boolean;
  /** What was emulated and what came, where they differ first; null where they do not. */
  difference: string | null;
}

const NEAR_NANOTONS = 1_000;

/** @param emulated and `came`: parents before their children, the root first */
export function compareTraces(emulated: readonly Seen[], came: readonly Seen[]): Comparison {
  const [told, real] = [shapeOf(emulated), shapeOf(came)];
  const raced = hasRaced(emulated, came);
  let [likeness, difference]: [Likeness, string | null] = ['same', null];
  for (let i = 0; i < Math.max(told.length, real.length) && likeness !== 'other'; i++) {
    const [one, other] = [told.at(i), real.at(i)];
    const apart = one?.facts === other?.facts ? Math.abs((one?.value ?? 0) - (other?.value ?? 0)) : Infinity;
    if (apart === 0) continue;
    likeness = apart > NEAR_NANOTONS ? 'other' : 'near';
    if (difference === null || likeness === 'other') difference = `${i}: ${text(one)}, came ${text(other)}`;
  }
  return { likeness, raced, difference };
}

interface Facts {
  facts: string;
  /** Nanotons. */
  value: number;
}

const text = (one: Facts | undefined): string => (one === undefined ? 'nothing' : `${one.facts} ${one.value}`);

/** The facts of the transactions of a tree, in the order of the messages that lead to them. */
function shapeOf(seen: readonly Seen[]): Facts[] {
  const receivers = new Map<string, Transaction>();
  for (const { transaction } of seen) {
    if (transaction.inMsg !== null) receivers.set(hashKey(transaction.inMsg.hash), transaction);
  }
  const found: Facts[] = [];
  const queue: (Transaction | undefined)[] = [seen[0]?.transaction];
  for (const one of queue) {
    found.push(one === undefined ? { facts: 'nobody', value: 0 } : factsOf(one));
    for (const { destination, hash } of one?.outMsgs ?? []) {
      if (destination !== null) queue.push(receivers.get(hashKey(hash)));
    }
  }
  return found;
}

function factsOf({ account, inMsg, description: { compute } }: Transaction): Facts {
  const exit = compute === null || compute.skipped ? compute?.reason : compute.exitCode;
  const facts = `${rawAddress(account)} opcode ${inMsg?.opcode ?? 'none'} exit ${exit ?? 'none'}`;
  return { facts, value: Number(inMsg?.value ?? 0) };
}

/** By the transactions that each account had before those of the trace. */
function hasRaced(emulated: readonly Seen[], came: readonly Seen[]): boolean {
  const own = new Set(came.map(({ transaction: { hash } }) => hashKey(hash)));
  const [before, really] = [firstBefore(emulated), firstBefore(came)];
  for (const [account, prevHash] of really) if ((before.get(account) ?? prevHash) !== prevHash) return true;
  // Each account is entered once: what is between two of its transactions is of the trace.
  return came.filter(({ transaction: { prevHash } }) => !own.has(hashKey(prevHash))).length > really.size;
}

/** By account the transaction before its first one. */
function firstBefore(seen: readonly Seen[]): Map<string, string> {
  const first = new Map<string, Transaction>();
  for (const { transaction } of seen) {
    const key = hashKey(transaction.account);
    const known = first.get(key);
    if (known === undefined || compareDecimal(transaction.lt, known.lt) < 0) first.set(key, transaction);
  }
  return new Map([...first].map(([key, { prevHash }]) => [key, hashKey(prevHash)]));
}
