import type { CellView } from '../layouts/cell-view.ts';
import type { AccountStatus, Decimal, ExtraCurrencies } from '../model.ts';

/** Raw text form with upper-case hex, as the API prints addresses: actions look accounts up by it and print it. */
export type RawAddress = string;

/** 32 bytes in padded base64, as the API prints hashes. */
export type HashText = string;

/** What actions read of a message. */
export interface TraceMessage {
  hash: HashText;
  /** Null for an external-in message. */
  source: RawAddress | null;
  /** Null for an external-out message. */
  destination: RawAddress | null;
  value: Decimal | null;
  extraCurrencies: ExtraCurrencies;
  /** Null for an external-in message. */
  createdLt: Decimal | null;
  createdAt: number | null;
  /** First 32 bits of the body, null for shorter ones. */
  opcode: number | null;
  bounce: boolean | null;
  /** The body as a cell of its own. Throws DecodeError. */
  body(): CellView;
  /** The StateInit as a cell of its own, null without one. Throws DecodeError. */
  init(): CellView | null;
}

/** What actions read of a transaction. */
export interface TraceTransaction {
  hash: HashText;
  account: RawAddress;
  lt: Decimal;
  /** Unix seconds. */
  now: number;
  origStatus: AccountStatus;
  endStatus: AccountStatus;
  aborted: boolean;
  /** Why the compute phase was skipped, null when it was not. */
  skipReason: string | null;
  /** Exit code of the compute phase, null when it was skipped. */
  exitCode: number | null;
  /** Null for a tick-tock or another special transaction. */
  inMsg: TraceMessage | null;
  outMsgs: readonly TraceMessage[];
}

/** A trace whose transactions are all there. */
export interface Trace {
  /** Hash of the root transaction; null while that is emulated. */
  id: HashText | null;
  /** Hash of the root's in-message, null without one. */
  externalHash: HashText | null;
  /** Normalised hash of an external root message, where it differs from `externalHash`. */
  externalHashNorm: HashText | null;
  /** Masterchain step of the last transaction. */
  mcSeqnoEnd: number;
  endLt: Decimal;
  endUtime: number;
  transactions: readonly TraceTransaction[];
}

/**
 * A message of a trace with the transaction that received it. An external-out message (a log) was received by nobody:
 * its node is a leaf with the transaction that sent it.
 */
export class TraceNode {
  readonly message: TraceMessage | null;
  readonly transaction: TraceTransaction;
  readonly parent: TraceNode | null;
  readonly children: TraceNode[] = [];
  readonly kind: 'received' | 'log' | 'ghost';

  constructor(
    message: TraceMessage | null,
    transaction: TraceTransaction,
    parent: TraceNode | null,
    kind: TraceNode['kind'] = 'received',
  ) {
    this.message = message;
    this.transaction = transaction;
    this.parent = parent;
    this.kind = kind;
  }

  /** Where the node stands in the order of the trace: when its message was made; of a root, its transaction's lt. */
  get lt(): Decimal {
    return this.message?.createdLt ?? this.transaction.lt;
  }

  get utime(): number {
    return this.message?.createdAt ?? this.transaction.now;
  }

  /** Hash of the message; of a transaction without one, its own. */
  get hash(): HashText {
    return this.message?.hash ?? this.transaction.hash;
  }

  /** The transaction that sent the message, null at the root. */
  get sender(): TraceTransaction | null {
    return this.kind === 'log' ? this.transaction : (this.parent?.transaction ?? null);
  }
}

/** Why a trace cannot be classified. */
export class TraceError extends Error {
  override readonly name = 'TraceError';
}

/**
 * Links the transactions of a trace by the hashes of their messages. A message that no transaction of the trace
 * received, for example past the end of an emulation, has no node.
 * @returns the node of the root
 * @throws TraceError when there is no single root with everything else below it, each once
 */
export function growTrace(trace: Trace): TraceNode {
  const receivers = new Map<HashText, TraceTransaction>();
  for (const transaction of trace.transactions) {
    if (transaction.inMsg !== null) receivers.set(transaction.inMsg.hash, transaction);
  }
  const sent = new Set<HashText>();
  for (const { outMsgs } of trace.transactions) for (const { hash } of outMsgs) sent.add(hash);
  const roots = trace.transactions.filter(({ inMsg }) => inMsg === null || !sent.has(inMsg.hash));
  if (roots.length !== 1) throw new TraceError(`the trace has ${roots.length} roots`);
  const root = new TraceNode(roots[0].inMsg, roots[0], null);
  const nodes = [root];
  const reached = new Set([root.transaction]);
  for (const node of nodes) {
    if (node.kind === 'log') continue;
    for (const message of node.transaction.outMsgs) {
      const receiver = receivers.get(message.hash);
      if (message.destination !== null && receiver === undefined) continue;
      const child =
        message.destination === null || receiver === undefined
          ? new TraceNode(message, node.transaction, node, 'log')
          : new TraceNode(receiver.inMsg, receiver, node);
      if (child.kind === 'received') {
        if (reached.has(child.transaction)) throw new TraceError('a message was received twice');
        reached.add(child.transaction);
      }
      node.children.push(child);
      nodes.push(child);
    }
  }
  if (reached.size !== trace.transactions.length) throw new TraceError('transactions that hang on nothing');
  return root;
}
