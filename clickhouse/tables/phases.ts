/** What a transaction tells of itself, in columns for whoever counts and filters: readers of one take its cells. */
import type { Transaction, TransactionDescription } from '../../src/chain/model.ts';
import { bool, i32, nullable, oneOf, status, u16, u32, u64, u128 } from './columns.ts';
import type { RowOf } from './table.ts';

/** Null and `none`: the transaction has no such phase, or did not reach it. */
export const phaseColumns = {
  prevLt: u64,
  origStatus: status,
  endStatus: status,
  descr: oneOf('ord', 'storage', 'tick_tock', 'split_prepare', 'split_install', 'merge_prepare', 'merge_install'),
  destroyed: bool,
  storageFees: nullable(u128),
  credit: nullable(u128),
  /** Why it was skipped, or that it ran. */
  compute: oneOf('none', 'run', 'no_state', 'bad_state', 'no_gas', 'suspended'),
  computeSuccess: nullable(bool),
  exitCode: nullable(i32),
  gasUsed: nullable(u64),
  gasLimit: nullable(u64),
  gasFees: nullable(u128),
  vmSteps: nullable(u32),
  actionSuccess: nullable(bool),
  actionResultCode: nullable(i32),
  fwdFees: nullable(u128),
  actionFees: nullable(u128),
  totActions: nullable(u16),
  msgsCreated: nullable(u16),
  bounce: oneOf('none', 'negfunds', 'nofunds', 'ok'),
  /** Of the message received. */
  inValue: nullable(u128),
};

export type Phases = RowOf<typeof phaseColumns>;

export function phasesOf({ prevLt, origStatus, endStatus, inMsg, description }: Transaction): Phases {
  const { type, destroyed, storage, credit, bounce } = description;
  return {
    prevLt,
    origStatus,
    endStatus,
    descr: type,
    destroyed: destroyed ?? false,
    storageFees: storage?.collected ?? null,
    credit: credit?.credit.grams ?? null,
    ...computeOf(description),
    ...actionsOf(description),
    bounce: bounce?.type ?? 'none',
    inValue: inMsg?.value ?? null,
  };
}

type Compute = Pick<Phases, 'compute' | 'computeSuccess' | 'exitCode' | 'gasUsed' | 'gasLimit' | 'gasFees' | 'vmSteps'>;

function computeOf({ compute }: TransactionDescription): Compute {
  if (compute?.skipped === false) {
    const { success, exitCode, gasUsed, gasLimit, gasFees, vmSteps } = compute;
    return { compute: 'run', computeSuccess: success, exitCode, gasUsed, gasLimit, gasFees, vmSteps };
  }
  return {
    compute: compute?.reason ?? 'none',
    computeSuccess: null,
    exitCode: null,
    gasUsed: null,
    gasLimit: null,
    gasFees: null,
    vmSteps: null,
  };
}

type Actions = Pick<
  Phases,
  'actionSuccess' | 'actionResultCode' | 'fwdFees' | 'actionFees' | 'totActions' | 'msgsCreated'
>;

function actionsOf({ action }: TransactionDescription): Actions {
  return {
    actionSuccess: action?.success ?? null,
    actionResultCode: action?.resultCode ?? null,
    fwdFees: action?.totalFwdFees ?? null,
    actionFees: action?.totalActionFees ?? null,
    totActions: action?.totActions ?? null,
    msgsCreated: action?.msgsCreated ?? null,
  };
}
