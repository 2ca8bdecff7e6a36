import { readCurrencies } from './currency.ts';
import type { Cursor } from './cursor.ts';
import { DecodeError } from './errors.ts';
import type {
  ActionPhase,
  BouncePhase,
  ComputePhase,
  CreditPhase,
  SplitInfo,
  StoragePhase,
  TransactionDescription,
  TransactionType,
} from './model.ts';

/** `TransactionDescr` of crypto/block/block.tlb, every constructor. Throws DecodeError. */
export function readDescription(cursor: Cursor): TransactionDescription {
  const tag = cursor.u(3);
  if (tag === 0) return cursor.bit() ? readStorageOnly(cursor) : readOrdinary(cursor);
  if (tag === 1) return readTickTock(cursor);
  if (tag === 2) return cursor.bit() ? readSplitInstall(cursor) : readSplitPrepare(cursor);
  if (tag === 3) return cursor.bit() ? readMergeInstall(cursor) : readMergePrepare(cursor);
  throw new DecodeError('unknown kind of transaction');
}

function empty(type: TransactionType): TransactionDescription {
  return {
    type,
    aborted: null,
    destroyed: null,
    creditFirst: null,
    isTock: null,
    installed: null,
    storage: null,
    credit: null,
    compute: null,
    action: null,
    bounce: null,
    splitInfo: null,
  };
}

function readOrdinary(cursor: Cursor): TransactionDescription {
  const description = empty('ord');
  description.creditFirst = cursor.bit();
  if (cursor.bit()) description.storage = readStorage(cursor);
  if (cursor.bit()) description.credit = readCredit(cursor);
  description.compute = readCompute(cursor);
  if (cursor.bit()) description.action = readAction(cursor.open());
  description.aborted = cursor.bit();
  if (cursor.bit()) description.bounce = readBounce(cursor);
  description.destroyed = cursor.bit();
  return description;
}

function readStorageOnly(cursor: Cursor): TransactionDescription {
  const description = empty('storage');
  description.storage = readStorage(cursor);
  return description;
}

function readTickTock(cursor: Cursor): TransactionDescription {
  const description = empty('tick_tock');
  description.isTock = cursor.bit();
  description.storage = readStorage(cursor);
  readRun(cursor, description);
  return description;
}

/** The common end of several kinds: compute, action, aborted, destroyed. */
function readRun(cursor: Cursor, description: TransactionDescription): void {
  description.compute = readCompute(cursor);
  if (cursor.bit()) description.action = readAction(cursor.open());
  description.aborted = cursor.bit();
  description.destroyed = cursor.bit();
}

function readSplitPrepare(cursor: Cursor): TransactionDescription {
  const description = empty('split_prepare');
  description.splitInfo = readSplitInfo(cursor);
  if (cursor.bit()) description.storage = readStorage(cursor);
  readRun(cursor, description);
  return description;
}

function readSplitInstall(cursor: Cursor): TransactionDescription {
  const description = empty('split_install');
  description.splitInfo = readSplitInfo(cursor);
  cursor.nextRef();
  description.installed = cursor.bit();
  return description;
}

function readMergePrepare(cursor: Cursor): TransactionDescription {
  const description = empty('merge_prepare');
  description.splitInfo = readSplitInfo(cursor);
  description.storage = readStorage(cursor);
  description.aborted = cursor.bit();
  return description;
}

function readMergeInstall(cursor: Cursor): TransactionDescription {
  const description = empty('merge_install');
  description.splitInfo = readSplitInfo(cursor);
  cursor.nextRef();
  if (cursor.bit()) description.storage = readStorage(cursor);
  if (cursor.bit()) description.credit = readCredit(cursor);
  readRun(cursor, description);
  return description;
}

function readSplitInfo(cursor: Cursor): SplitInfo {
  return {
    curShardPfxLen: cursor.u(6),
    accSplitDepth: cursor.u(6),
    thisAddr: cursor.bytes(32),
    siblingAddr: cursor.bytes(32),
  };
}

/** `AccStatusChange`: acst_unchanged$0, acst_frozen$10, acst_deleted$11. */
function readStatusChange(cursor: Cursor): StoragePhase['statusChange'] {
  if (!cursor.bit()) return 'unchanged';
  return cursor.bit() ? 'deleted' : 'frozen';
}

function readStorage(cursor: Cursor): StoragePhase {
  return {
    collected: cursor.grams(),
    due: cursor.bit() ? cursor.grams() : null,
    statusChange: readStatusChange(cursor),
  };
}

function readCredit(cursor: Cursor): CreditPhase {
  return { dueFeesCollected: cursor.bit() ? cursor.grams() : null, credit: readCurrencies(cursor) };
}

/** `ComputeSkipReason`: no_state$00, bad_state$01, no_gas$10, suspended$110. */
function readSkipReason(cursor: Cursor): 'no_state' | 'bad_state' | 'no_gas' | 'suspended' {
  if (!cursor.bit()) return cursor.bit() ? 'bad_state' : 'no_state';
  if (!cursor.bit()) return 'no_gas';
  if (cursor.bit()) throw new DecodeError('unknown reason of a skipped compute phase');
  return 'suspended';
}

function readCompute(cursor: Cursor): ComputePhase {
  if (!cursor.bit()) return { skipped: true, reason: readSkipReason(cursor) };
  const success = cursor.bit();
  const msgStateUsed = cursor.bit();
  const accountActivated = cursor.bit();
  const gasFees = cursor.grams();
  const vm = cursor.open();
  return {
    skipped: false,
    success,
    msgStateUsed,
    accountActivated,
    gasFees,
    gasUsed: vm.varUint(3),
    gasLimit: vm.varUint(3),
    gasCredit: vm.bit() ? vm.varUint(2) : null,
    mode: vm.i(8),
    exitCode: vm.i(32),
    exitArg: vm.bit() ? vm.i(32) : null,
    vmSteps: vm.u(32),
    vmInitStateHash: vm.hash(),
    vmFinalStateHash: vm.hash(),
  };
}

function readAction(cursor: Cursor): ActionPhase {
  return {
    success: cursor.bit(),
    valid: cursor.bit(),
    noFunds: cursor.bit(),
    statusChange: readStatusChange(cursor),
    totalFwdFees: cursor.bit() ? cursor.grams() : null,
    totalActionFees: cursor.bit() ? cursor.grams() : null,
    resultCode: cursor.i(32),
    resultArg: cursor.bit() ? cursor.i(32) : null,
    totActions: cursor.u(16),
    specActions: cursor.u(16),
    skippedActions: cursor.u(16),
    msgsCreated: cursor.u(16),
    actionListHash: cursor.hash(),
    totMsgCells: cursor.varUint(3),
    totMsgBits: cursor.varUint(3),
  };
}

/** `TrBouncePhase`: negfunds$00, nofunds$01, ok$1. */
function readBounce(cursor: Cursor): BouncePhase {
  if (!cursor.bit()) {
    if (!cursor.bit()) return { type: 'negfunds' };
    return {
      type: 'nofunds',
      cells: cursor.varUint(3),
      bits: cursor.varUint(3),
      reqFwdFees: cursor.grams(),
    };
  }
  return {
    type: 'ok',
    cells: cursor.varUint(3),
    bits: cursor.varUint(3),
    msgFees: cursor.grams(),
    fwdFees: cursor.grams(),
  };
}
