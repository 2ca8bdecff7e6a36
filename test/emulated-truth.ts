/** Emulated traces beside what came true: where they differ in accounts, opcodes, values and exit codes. */
import { rawAddress } from '../src/chain/address.ts';
import { hashKey } from '../src/chain/hash.ts';
import type { Transaction } from '../src/chain/model.ts';

type Seen = Pick<Transaction, 'account' | 'inMsg' | 'outMsgs' | 'description'>;

/** What of a transaction must be the same. */
function factsOf({ account, inMsg, description: { compute, action, aborted } }: Seen): string {
  const exit = compute === null || compute.skipped ? `skipped ${compute?.reason}` : `exit ${compute.exitCode}`;
  const opcode = inMsg?.opcode ?? null;
  return [rawAddress(account), opcode, inMsg?.value, exit, action?.resultCode, aborted].join(' ');
}

/** The transactions of a trace by the messages that lead to them, from the one that received this message on. */
export function treeOf(root: string, transactions: Iterable<Seen>): string[] {
  const receivers = new Map<string, Seen>();
  for (const one of transactions) if (one.inMsg !== null) receivers.set(hashKey(one.inMsg.hash), one);
  const lines: string[] = [];
  const walk = (message: string, path: string): void => {
    const found = receivers.get(message);
    if (found === undefined) return void lines.push(`${path} nobody`);
    lines.push(`${path} ${factsOf(found)}`);
    for (const [i, out] of found.outMsgs.entries()) {
      if (out.destination !== null) walk(hashKey(out.hash), `${path}.${i}`);
    }
  };
  walk(root, '0');
  return lines;
}

/** Null for two traces that are alike, else the first thing in which they differ. */
export function differenceOf(root: string, emulated: Iterable<Seen>, real: Iterable<Seen>): string | null {
  const [told, came] = [treeOf(root, emulated), treeOf(root, real)];
  for (let i = 0; i < Math.max(told.length, came.length); i++) {
    if (told[i] !== came[i]) return `emulated ${told[i] ?? 'nothing'} | came ${came[i] ?? 'nothing'}`;
  }
  return null;
}
