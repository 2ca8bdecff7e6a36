/** What follows the elector's answer, which no recorded trace shows. */
import { expect, test } from 'vitest';
import { account, knowing, madeTrace, op, type Sent } from '../../../test/made-trace.ts';
import { classify } from './classify.ts';
import type { Trace, TraceMessage } from './trace.ts';

const ELECTOR = `-1:${'3'.repeat(64)}`;

/** The same trace, with the elector in the place of the account of that name. */
function withElector(trace: Trace): Trace {
  const renamed = <T extends string | null>(address: T) => (address === account('elector') ? ELECTOR : address);
  const message = (one: TraceMessage): TraceMessage => {
    return { ...one, source: renamed(one.source), destination: renamed(one.destination) };
  };
  const transactions = trace.transactions.map((one) => ({
    ...one,
    account: renamed(one.account),
    inMsg: one.inMsg && message(one.inMsg),
    outMsgs: one.outMsgs.map(message),
  }));
  return { ...trace, transactions };
}

test('an answer that bounces at the validator is part of the stake, what it returns is not', () => {
  const bounced: Sent = { to: 'elector', body: op(0xffffffff) };
  const excess: Sent = { to: 'elector', body: op(0xd53276db) };
  const answer: Sent = { to: 'validator', body: op(0xf374484c), sends: [bounced, excess] };
  const stake: Sent = { to: 'elector', body: op(0x4e73744b), value: '5', sends: [answer] };
  const trace = withElector(madeTrace({ to: 'validator', sends: [stake] }));
  const { state, actions } = classify(trace, knowing());
  expect(state).toBe('ok');
  expect(actions.map(({ type, details }) => [type, details.opcode])).toEqual([
    ['election_deposit', undefined],
    ['call_contract', '0xd53276db'],
  ]);
  expect(actions[0]).toMatchObject({ success: true, details: { stake_holder: account('validator'), amount: '5' } });
});
