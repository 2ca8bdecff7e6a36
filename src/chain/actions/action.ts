import { compareDecimal } from '../decimal.ts';
import { sha256Of } from '../hash.ts';
import type { Decimal } from '../model.ts';
import type { Block, BlockKind } from './block.ts';
import type { Columns, Details } from './details.ts';
import { unknown } from './ton.ts';
import type { HashText, RawAddress, Trace, TraceNode } from './trace.ts';

/** What a trace, or a part of it, did, as it is stored. */
export interface Action {
  /** Base64. The same for the same messages, whenever and wherever the trace is classified. */
  id: HashText;
  /** The type that filters compare; the printed one may differ. */
  type: string;
  /** First message of the action. */
  startLt: Decimal;
  /** Last transaction. */
  endLt: Decimal;
  startUtime: number;
  endUtime: number;
  success: boolean;
  details: Details;
  /** Hashes of the action's transactions and of the one that began it. */
  transactions: HashText[];
  /** Every account the action is found by. */
  accounts: RawAddress[];
  /** The action this one is a part of, null for a whole. */
  parentId: HashText | null;
  /** Names of the blocks this one is a part of, innermost first. */
  ancestors: readonly string[];
}

/** `base64(SHA-256(message hash ‖ block name))`, both as ASCII text. */
export function actionId(messageHash: HashText, block: string): HashText {
  return sha256Of(Buffer.from(messageHash + block, 'latin1')).toString('base64');
}

function earliest(nodes: readonly TraceNode[]): TraceNode {
  let first = nodes[0];
  for (const node of nodes) if (compareDecimal(node.lt, first.lt) < 0) first = node;
  return first;
}

export function actionOf(block: Block, kind: BlockKind, parent: Action | null): Action {
  const { nodes, initiator } = block;
  const first = earliest(nodes);
  let endLt = '0';
  let startUtime = Number.POSITIVE_INFINITY;
  let endUtime = 0;
  let ghosts = false;
  const transactions = new Set<HashText>();
  const accounts = new Set<RawAddress>();
  for (const { kind, utime, transaction } of nodes) {
    if (compareDecimal(transaction.lt, endLt) > 0) endLt = transaction.lt;
    startUtime = Math.min(startUtime, utime);
    endUtime = Math.max(endUtime, transaction.now);
    if (kind === 'ghost') ghosts = true;
    transactions.add(transaction.hash);
    accounts.add(transaction.account);
  }
  if (initiator !== null) {
    transactions.add(initiator.hash);
    accounts.add(initiator.account);
  }
  addColumns(accounts, kind.accounts(block), ghosts);
  return {
    id: actionId(first.hash, kind.block),
    type: kind.type,
    startLt: first.lt,
    endLt,
    startUtime,
    endUtime,
    success: !block.failed,
    details: kind.details(block),
    transactions: [...transactions],
    accounts: [...accounts],
    parentId: parent?.id ?? null,
    ancestors: parent === null ? NONE : [parent.type, ...parent.ancestors],
  };
}

const NONE: readonly string[] = [];

/** What only was to be sent is not found by where it would have gone. */
function addColumns(accounts: Set<RawAddress>, columns: Columns, ghosts: boolean): void {
  const { source, source2, destination, destination2, more } = columns;
  for (const one of ghosts ? [source, source2] : [source, source2, destination, destination2]) {
    if (one !== null && one !== undefined) accounts.add(one);
  }
  for (const one of more ?? []) accounts.add(one);
}

/** The one action of a trace that came to nothing else. */
export function unknownAction(trace: Trace): Action {
  const { transactions } = trace;
  const [root] = transactions;
  return {
    id: trace.id ?? trace.externalHash ?? root.hash,
    type: unknown.type,
    startLt: root.lt,
    endLt: trace.endLt,
    startUtime: root.now,
    endUtime: trace.endUtime,
    success: transactions.every(({ aborted }) => !aborted),
    details: { error: "unsupported action type: 'unknown'" },
    transactions: transactions.map(({ hash }) => hash),
    accounts: [...new Set(transactions.map(({ account }) => account))],
    parentId: null,
    ancestors: NONE,
  };
}
