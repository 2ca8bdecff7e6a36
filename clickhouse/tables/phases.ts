/** What a transaction tells of itself, in columns for whoever counts and filters: readers of one take its cells. */
import type { Transaction } from '../../src/chain/model.ts';
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

/** One literal: properties that are spread into another object are copied one by one by the engine's runtime. */
export function phasesOf({ prevLt, origStatus, endStatus, inMsg, description }: Transaction): Phases {
  const { type, destroyed, storage, credit, compute, action, bounce } = description;
  const run = compute?.skipped === false ? compute : null;
  return {
    prevLt,
    origStatus,
    endStatus,
    descr: type,
    destroyed: destroyed ?? false,
    storageFees: storage?.collected ?? null,
    credit: credit?.credit.grams ?? null,
    compute: compute?.skipped === true ? compute.reason : run === null ? 'none' : 'run',
    computeSuccess: run?.success ?? null,
    exitCode: run?.exitCode ?? null,
    gasUsed: run?.gasUsed ?? null,
    gasLimit: run?.gasLimit ?? null,
    gasFees: run?.gasFees ?? null,
    vmSteps: run?.vmSteps ?? null,
    actionSuccess: action?.success ?? null,
    actionResultCode: action?.resultCode ?? null,
    fwdFees: action?.totalFwdFees ?? null,
    actionFees: action?.totalActionFees ?? null,
    totActions: action?.totActions ?? null,
    msgsCreated: action?.msgsCreated ?? null,
    bounce: bounce?.type ?? 'none',
    inValue: inMsg?.value ?? null,
  };
}
