/** The contract that fails as it is told to: see faults.tolk. */
import { type Address, beginCell, type Cell, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const faultsCode: Cell = codeCell(CODES.faults);
export const faultsData: Cell = beginCell().storeUint(0, 64).endCell();
export const faultsAddress: Address = contractAddress(0, { code: faultsCode, data: faultsData });

/** Exit code of its external messages. */
export const FAULTS_EXTERNAL_CODE = 100;

export type Fault =
  /** Ends the computation with exit code `code`, 2 to 65535. */
  | { kind: 'throw'; code: number }
  /** Computes until the gas is gone: exit code -14. */
  | { kind: 'exhaust' }
  /** Computes well, then the action phase ends with 37: not enough coins. */
  | { kind: 'overspend' }
  /** No fault: emits an external-out message to topic `topic`. */
  | { kind: 'emit'; topic: bigint };

const OPS = { throw: 0x66000001, exhaust: 0x66000002, overspend: 0x66000003, emit: 0x66000004 } as const;

/** Body of the internal message that asks for a fault. */
export function faultBody(fault: Fault, queryId: bigint): Cell {
  const body = beginCell().storeUint(OPS[fault.kind], 32).storeUint(queryId, 64);
  if (fault.kind === 'throw') body.storeUint(fault.code, 16);
  if (fault.kind === 'emit') body.storeUint(fault.topic, 64);
  return body.endCell();
}
