/** What is told of a trace that is not final, as it stands or as it has changed. Such events have no place of their own. */

import type { WalletState } from '../chain/contract-records.ts';
import { hashKey } from '../chain/hash.ts';
import { excess } from '../chain/layouts/common.ts';
import { jettonNotify } from '../chain/layouts/jettons.ts';
import { nftOwnershipAssigned } from '../chain/layouts/nfts.ts';
import type { Finality, TransactionRecord } from '../chain/records.ts';
import { leastSure } from '../pending/merge.ts';
import { actionRecords, transactionRecords } from '../pending/records.ts';
import type { OpenTrace } from '../pending/store.ts';
import type {
  ActionsEvent,
  GroupEvent,
  StateEvent,
  ToldAction,
  TraceEvent,
  TransactionEvent,
  WalletEvent,
} from './events.ts';
import type { Place } from './place.ts';
import { byEnd, toldAction } from './trace-events.ts';

export type PendingEvent = (TransactionEvent | StateEvent | WalletEvent | GroupEvent | ActionsEvent | TraceEvent) & {
  finality: 'pending' | 'confirmed';
};

/**
 * Messages that only say what has happened already: who receives one and sends nothing lowers no action (streaming
 * 4.2).
 */
const NOTICES: ReadonlySet<number> = new Set([jettonNotify.opcode, nftOwnershipAssigned.opcode, excess.opcode]);

interface Parts {
  /** By lt and account. */
  records: readonly TransactionRecord[];
  /** By transaction the jetton wallet that it leaves. */
  wallets: ReadonlyMap<string, WalletState>;
  /** Newest first. */
  actions: readonly ToldAction[];
  /** Of what is told as a whole: its transactions; its actions. */
  level: Finality;
  actionLevel: Finality;
}

const known = new WeakMap<OpenTrace, Parts>();

/** What a trace consists of; read once. */
export function partsOf(one: OpenTrace): Parts {
  const made = known.get(one);
  if (made !== undefined) return made;
  const parts = {
    records: transactionRecords(one),
    wallets: walletsOf(one),
    actions: actionRecords(one).map(toldAction).sort(byEnd),
    level: one.finality,
    actionLevel: one.trace.isIncomplete ? 'pending' : levelOfActions(one.nodes),
  };
  known.set(one, parts);
  return parts;
}

function walletsOf({ nodes }: OpenTrace): Map<string, WalletState> {
  return new Map(
    nodes.flatMap(({ node: { wallet }, transaction: { account: address, hash, lt } }) =>
      wallet === null ? [] : [[hashKey(hash), { address, lt, ...wallet }] as const],
    ),
  );
}

interface Received {
  node: { finality: Finality };
  transaction: { inMsg: { opcode: number | null } | null; outMsgs: readonly unknown[] };
}

/** Of what is told as a whole: the least sure of its transactions, but for receivers of notices that send nothing. */
export function levelOfActions(nodes: readonly Received[]): Finality {
  const counted = nodes.filter(({ transaction: { inMsg, outMsgs } }) => {
    return outMsgs.length > 0 || inMsg?.opcode == null || !NOTICES.has(inMsg.opcode);
  });
  return leastSure(counted.map(({ node }) => node));
}

/**
 * What is new of a trace since `before`, which is null for one of whom nothing was told. Of a trace that is final as a
 * whole nothing is: its step tells it. Neither is anything called final here, though all but notices are: what is told
 * as final is what is stored.
 * @param place up to which final events were told
 */
export function pendingEvents(one: OpenTrace, before: OpenTrace | null, place: Place): PendingEvent[] {
  const { records, wallets, actions, level, actionLevel: sure } = partsOf(one);
  if (level === 'finalized' || one === before) return [];
  const { hashNorm, version } = one.trace;
  const hash = hashNorm.toString('base64');
  const subject = () => [hashNorm, versionBytes(version)];
  const events: PendingEvent[] = [];
  const said = new Set((before === null ? [] : partsOf(before).records).map(markOf));
  for (const record of records) {
    const finality = levelOf(record);
    if (finality === null || said.has(markOf(record))) continue;
    const own = { finality, place, subject: () => [record.transaction.hash], record };
    events.push({ type: 'transactions', ...own });
    const { after: state } = record;
    if (finality !== 'confirmed' || state === null) continue;
    events.push({ type: 'account_state_change', ...own, state });
    const wallet = wallets.get(hashKey(record.transaction.hash));
    if (wallet !== undefined) events.push({ type: 'jettons_change', ...own, state, wallet });
  }
  events.push({
    type: 'trace_transactions',
    finality: level,
    place,
    subject,
    isWhole: true,
    records: records.toReversed(),
  });
  const finality = sure === 'finalized' ? 'confirmed' : sure;
  const common = { finality, place, subject, traceId: null, actions };
  if (before === null || !sameActions(partsOf(before), partsOf(one))) events.push({ type: 'actions', ...common });
  events.push({ type: 'trace', ...common, hash, transactions: records });
  return events;
}

/** Whether an event tells how one transaction has left something. */
export function isState(event: PendingEvent): event is (StateEvent | WalletEvent) & PendingEvent {
  return event.type === 'account_state_change' || event.type === 'jettons_change';
}

function levelOf({ finality = 'finalized' }: TransactionRecord): 'pending' | 'confirmed' | null {
  return finality === 'finalized' ? null : finality;
}

export function markOf({ finality = 'finalized', transaction }: TransactionRecord): string {
  return `${finality} ${hashKey(transaction.hash)}`;
}

function versionBytes(version: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(version);
  return bytes;
}

function sameActions(a: Parts, b: Parts): boolean {
  if (a.actionLevel !== b.actionLevel || a.actions.length !== b.actions.length) return false;
  return a.actions.every(({ record }, i) => {
    const other = b.actions[i].record;
    return (
      record.content === other.content &&
      record.success === other.success &&
      record.transactions.equals(other.transactions) &&
      finalityOf(record) === finalityOf(other)
    );
  });
}

const finalityOf = (record: ToldAction['record']): Finality => ('finality' in record ? record.finality : 'finalized');
