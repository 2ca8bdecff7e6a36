import type { Action } from './action.ts';
import { callContract, tonTransfer, unknown } from './ton.ts';
import type { Trace } from './trace.ts';

/**
 * A transfer or call that carries extra currencies is printed as a type of its own; requests filter by the stored one,
 * streams by either.
 */
export function printedType({ type, details }: { type: string; details: Readonly<Record<string, unknown>> }): string {
  const extra =
    type === tonTransfer.type
      ? details.value_extra_currencies
      : type === callContract.type
        ? details.extra_currencies
        : null;
  for (const _ in Object(extra)) return 'extra_currency_transfer';
  return type;
}

/**
 * An action as the v3 API prints it, without `finality`.
 * @returns an object for JSON; keys whose value is undefined are left out there
 */
export function printAction(action: Action, trace: Omit<Trace, 'transactions'>) {
  return {
    trace_id: trace.id,
    action_id: action.id,
    start_lt: action.startLt,
    end_lt: action.endLt,
    start_utime: action.startUtime,
    end_utime: action.endUtime,
    trace_end_lt: trace.endLt,
    trace_end_utime: trace.endUtime,
    trace_mc_seqno_end: trace.mcSeqnoEnd,
    transactions: action.transactions,
    success: action.success,
    type: printedType(action),
    details: action.details,
    trace_external_hash: trace.externalHash ?? undefined,
    trace_external_hash_norm: (action.type === unknown.type ? null : trace.externalHashNorm) ?? undefined,
  };
}
