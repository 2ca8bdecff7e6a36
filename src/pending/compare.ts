/** Whether a trace came as it was emulated: the same accounts, opcodes, values and exit codes in the same tree. */
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

const NEAR_NANOTONS = 1_000;

/** @param emulated and `came`: parents before their children, the root first */
export function likenessOf(emulated: readonly Seen[], came: readonly Seen[]): Likeness {
  const [told, real] = [shapeOf(emulated), shapeOf(came)];
  if (told.length !== real.length) return 'other';
  let likeness: Likeness = 'same';
  for (const [i, { facts, value }] of told.entries()) {
    if (facts !== real[i].facts) return 'other';
    const apart = Math.abs(value - real[i].value);
    if (apart > NEAR_NANOTONS) return 'other';
    if (apart > 0) likeness = 'near';
  }
  return likeness;
}

interface Facts {
  facts: string;
  /** Nanotons. */
  value: number;
}

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
  return { facts: [hashKey(account), inMsg?.opcode, exit].join(' '), value: Number(inMsg?.value ?? 0) };
}
