import { expect, it } from 'vitest';
import type { ActionAccountRow, ActionRow } from '../../clickhouse/tables/actions.ts';
import { listPlaces } from './kind.ts';
import { actionKind } from './kinds.ts';
import { toldActions } from './step.ts';

const ADDRESS_BYTES = 36;

it('leaves out accounts that an action told again is found by no more', () => {
  const trace = { traceEndLt: '100', traceId: Buffer.alloc(32, 1), traceEndUtime: 10 };
  const place = { ...trace, number: 0, mcSeqno: 9, endMcSeqno: 5, type: 'ton_transfer', ancestors: [] };
  const row: ActionRow = {
    ...place,
    actionId: Buffer.alloc(32, 2),
    startLt: '90',
    endLt: '100',
    startUtime: 9,
    endUtime: 10,
    success: true,
    externalHash: null,
    externalHashNorm: null,
    transactions: Buffer.alloc(0),
    content: '{}',
  };
  const [stays, gone] = [Buffer.alloc(ADDRESS_BYTES, 3), Buffer.alloc(ADDRESS_BYTES, 4)];
  const accounts: ActionAccountRow[] = [
    { ...place, account: stays },
    { ...place, account: gone, type: '' },
    // Of another telling.
    { ...place, account: gone, mcSeqno: 5 },
  ];
  const [{ entry }] = toldActions([row], accounts, null);
  const found = listPlaces(actionKind, entry).map((at) => entry.subarray(at, at + ADDRESS_BYTES));
  expect(found).toEqual([stays]);
});
