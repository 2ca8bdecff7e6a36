import { beginCell, external, toNano } from '@ton/core';
import { expect, test } from 'vitest';
import { FAULTS_EXTERNAL_CODE, type Fault, faultBody, faultsAddress, faultsCode, faultsData } from './faults.ts';
import { outcomeOf, sandboxWith } from './test-sandbox.ts';

const deployed = { address: faultsAddress, balance: toNano('10'), code: faultsCode, data: faultsData };

test.each<[string, Fault, boolean, object, boolean]>([
  ['throw', { kind: 'throw', code: 777 }, true, { aborted: true, exitCode: 777, actionCode: null }, true],
  ['throw, kept', { kind: 'throw', code: 777 }, false, { aborted: true, exitCode: 777, actionCode: null }, false],
  // All coins went for gas: nothing is left to come back.
  ['exhaust', { kind: 'exhaust' }, true, { aborted: true, exitCode: -14, actionCode: null }, false],
  ['overspend', { kind: 'overspend' }, true, { aborted: true, exitCode: 0, actionCode: 37 }, false],
  ['emit', { kind: 'emit', topic: 5n }, true, { aborted: false, exitCode: 0, actionCode: 0 }, false],
])('%s', async (_, fault, bounce, ending, comesBack) => {
  const blockchain = await sandboxWith([deployed]);
  const sender = await blockchain.treasury('sender');
  const body = faultBody(fault, 1n);
  const { transactions, externals } = await sender.send({ to: faultsAddress, value: toNano('0.02'), bounce, body });
  const [, failed, bounced] = transactions.map(outcomeOf);
  expect(failed).toMatchObject(ending);
  expect(bounced?.opcode).toBe(comesBack ? 0xffffffff : undefined);
  expect(externals.length).toBe(fault.kind === 'emit' ? 1 : 0);
});

test('an external message is paid for and fails', async () => {
  const blockchain = await sandboxWith([deployed]);
  const message = external({ to: faultsAddress, body: beginCell().storeUint(1, 64).endCell() });
  const { transactions } = await blockchain.sendMessage(message);
  expect(transactions.map(outcomeOf)).toMatchObject([{ aborted: true, exitCode: FAULTS_EXTERNAL_CODE }]);
  expect(transactions[0].totalFees.coins).toBeGreaterThan(0n);
});
