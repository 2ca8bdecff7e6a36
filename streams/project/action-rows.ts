/** What complete traces did, as rows. */
import {
  type ActionAccountRow,
  type ActionRow,
  actionAccounts,
  actionDoubts,
  actions,
} from '../../clickhouse/tables/actions.ts';
import type { TraceRow } from '../../clickhouse/tables/traces.ts';
import type { Action } from '../../src/chain/actions/action.ts';
import { hashText, traceTransaction } from '../../src/chain/actions/chain-trace.ts';
import { classify } from '../../src/chain/actions/classify.ts';
import { readContent } from '../../src/chain/actions/content.ts';
import { storedAction, storedId } from '../../src/chain/actions/stored-action.ts';
import type { RawAddress, Trace } from '../../src/chain/actions/trace.ts';
import { parseAddress } from '../../src/chain/address.ts';
import { compareDecimal } from '../../src/chain/decimal.ts';
import type { Address, Transaction } from '../../src/chain/model.ts';
import type { BatchPlace } from './accounts.ts';
import type { Counters } from './counters.ts';
import type { KnownStore } from './known-contracts.ts';
import type { OpenTrace } from './open-traces.ts';
import type { GrowingRows } from './step-rows.ts';

/** Rounds of looking up what was asked for: a pool tells of a wallet, which tells of a master, and so on. */
const MAX_ROUNDS = 8;

export interface Asked {
  known: KnownStore;
  batch: BatchPlace;
  counters: Counters;
  signal: AbortSignal;
}

export interface Told {
  state: TraceRow['classification'];
  /** In their order. */
  actions: readonly Action[];
  /** Contracts that were asked for and are nothing that is known. */
  unknown: readonly Address[];
}

/** Tells what a complete trace did, by what is known of contracts now. */
export async function tellTrace(
  trace: OpenTrace,
  endMcSeqno: number,
  transactions: readonly Transaction[],
  { known, batch, counters, signal }: Asked,
): Promise<Told> {
  const read: Trace = {
    id: hashText(trace.traceId),
    externalHash: trace.externalHash && hashText(trace.externalHash),
    externalHashNorm: trace.externalHashNorm && hashText(trace.externalHashNorm),
    mcSeqnoEnd: endMcSeqno,
    endLt: trace.endLt,
    endUtime: trace.endUtime,
    transactions: transactions.map(traceTransaction),
  };
  // Again with more that is known, as long as it asks for contracts that were not looked up.
  for (let round = 1; ; round++) {
    const { contracts, missing, unknown } = known.known();
    const { state, actions: told } = classify(read, contracts);
    if (missing.size > 0 && round < MAX_ROUNDS) {
      await known.loadMissing(missing, batch, signal);
      continue;
    }
    if (state === 'failed') counters.failedTraces++;
    if (state === 'unclassified') counters.unclassifiedTraces++;
    const ordered = told.toSorted(
      (a, b) => compareDecimal(a.endLt, b.endLt) || Buffer.compare(storedId(a), storedId(b)),
    );
    return { state, actions: ordered, unknown: contractsOf(unknown) };
  }
}

function contractsOf(found: Iterable<RawAddress>): Address[] {
  return [...found].flatMap((raw) => parseAddress(raw) ?? []).sort(Buffer.compare);
}

/** Notes what a trace that is told in a step was told without. */
export function writeDoubts(rows: GrowingRows, { traceId, endLt: traceEndLt }: OpenTrace, { unknown }: Told): void {
  const { mcSeqno } = rows;
  for (const address of unknown) rows.add(actionDoubts, { address, mcSeqno, traceEndLt, traceId });
}

/**
 * Writes the actions of a trace that a step tells.
 * @param before its last telling, all rows of it, where there was one that said something else
 * @returns the rows, by which the next telling takes them back
 */
export function writeTelling(
  rows: GrowingRows,
  trace: OpenTrace,
  told: Told,
  before: readonly ActionRow[] = [],
): ActionRow[] {
  const { mcSeqno } = rows;
  const written = tellingRows(trace, told, { mcSeqno, endMcSeqno: before[0]?.endMcSeqno ?? mcSeqno });
  for (const [number, row] of written.entries()) {
    rows.add(actions, row);
    const found = new Map(told.actions[number].accounts.map((raw) => [raw, parseAddress(raw)]));
    for (const account of found.values()) if (account) rows.add(actionAccounts, accountRow(row, account));
    for (const [raw, account] of before[number] ? accountsOf(before[number]) : []) {
      if (!found.has(raw)) rows.add(actionAccounts, accountRow({ ...row, ...NONE }, account));
    }
  }
  const gone = before.slice(written.length).map((row) => ({ ...row, ...NONE, mcSeqno }));
  for (const [i, row] of gone.entries()) {
    rows.add(actions, row);
    for (const account of accountsOf(before[written.length + i]).values())
      rows.add(actionAccounts, accountRow(row, account));
  }
  return [...written, ...gone];
}

/** The rows of a telling, by their numbers. */
export function tellingRows(
  trace: OpenTrace,
  { actions: told }: Told,
  place: Pick<ActionRow, 'mcSeqno' | 'endMcSeqno'>,
): ActionRow[] {
  return told.map((action, number) => actionRow(trace, action, { ...place, number }));
}

/** What an account is found by of an action. */
function accountRow(row: ActionRow, account: Address): ActionAccountRow {
  const { traceEndLt, traceId, number, mcSeqno, endMcSeqno, traceEndUtime, type, ancestors } = row;
  return { account, traceEndLt, traceId, number, mcSeqno, endMcSeqno, traceEndUtime, type, ancestors };
}

/** Nothing is told under a number any more. */
const NONE = { type: '', ancestors: [], success: false, transactions: Buffer.alloc(0), content: '' };

function actionRow(
  { traceId, externalHash, externalHashNorm, endLt: traceEndLt, endUtime: traceEndUtime }: OpenTrace,
  action: Action,
  place: Pick<ActionRow, 'number' | 'mcSeqno' | 'endMcSeqno'>,
): ActionRow {
  const own = storedAction(action);
  // Named one by one: rows of several spreads take ten times the memory.
  return {
    traceEndLt,
    traceId,
    number: place.number,
    actionId: own.actionId,
    mcSeqno: place.mcSeqno,
    endMcSeqno: place.endMcSeqno,
    traceEndUtime,
    startLt: own.startLt,
    endLt: own.endLt,
    startUtime: own.startUtime,
    endUtime: own.endUtime,
    type: own.type,
    success: own.success,
    ancestors: own.ancestors,
    externalHash,
    externalHashNorm,
    transactions: own.transactions,
    content: own.content,
  };
}

/** Whom a row is found by, as it was written. */
function accountsOf({ content }: ActionRow): Map<RawAddress, Address> {
  if (content === '') return new Map();
  const [, accounts] = readContent(content);
  return new Map(
    accounts.flatMap((raw) => {
      const account = parseAddress(raw);
      return account ? [[raw, account]] : [];
    }),
  );
}

/** Whether the same is told. */
export function saysTheSame(told: readonly ActionRow[], before: readonly ActionRow[]): boolean {
  const shown = before.filter(({ type }) => type !== '');
  return (
    told.length === shown.length &&
    told.every((row, i) => {
      const other = shown[i];
      return (
        row.actionId.equals(other.actionId) &&
        row.type === other.type &&
        row.success === other.success &&
        row.content === other.content &&
        row.startLt === other.startLt &&
        row.endLt === other.endLt &&
        row.ancestors.join() === other.ancestors.join() &&
        row.transactions.equals(other.transactions)
      );
    })
  );
}
