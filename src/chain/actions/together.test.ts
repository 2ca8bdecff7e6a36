/**
 * What was done is told alike alone and beside something else: a wallet sends messages of several traces at once. Traces
 * are the recorded ones; what is expected of two of them is what is told of each.
 */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { shelf } from '../../../test/shelf.ts';
import { type TraceFixture, traceFixtures } from '../../../test/trace-fixtures.ts';
import type { Action } from './action.ts';
import { classify } from './classify.ts';
import type { KnownContracts } from './known.ts';
import type { HashText, Trace, TraceMessage, TraceTransaction } from './trace.ts';

const BATCHER = `0:${'AB'.repeat(32)}`;

const digest = (text: string): HashText => createHash('sha256').update(text).digest('base64');

function rootOf({ transactions }: Trace): TraceTransaction {
  const sent = new Set(transactions.flatMap(({ outMsgs }) => outMsgs.map(({ hash }) => hash)));
  const root = transactions.find(({ inMsg }) => inMsg === null || !sent.has(inMsg.hash));
  if (root === undefined) throw new Error('no root');
  return root;
}

/** Traces whose roots a wallet calls, one message each, instead of that somebody outside did. */
function batch(traces: readonly Trace[]): Trace {
  const inMsg: TraceMessage = {
    hash: digest('external'),
    source: null,
    destination: BATCHER,
    value: null,
    extraCurrencies: {},
    createdLt: null,
    createdAt: null,
    opcode: null,
    bounce: null,
    body: () => {
      throw new Error('nobody reads it');
    },
    init: () => null,
  };
  const outMsgs: TraceMessage[] = [];
  const called = traces.flatMap((trace) => {
    const root = rootOf(trace);
    if (root.inMsg === null) throw new Error('a tick-tock is called by nobody');
    const createdLt = String(BigInt(root.lt) - 1n);
    const call = { ...root.inMsg, source: BATCHER, value: '1', createdLt, createdAt: root.now, opcode: 0x73696e74 };
    outMsgs.push(call);
    return trace.transactions.map((one) => (one === root ? { ...one, inMsg: call } : one));
  });
  const { now } = called[0];
  const sender = { hash: digest('batch'), account: BATCHER, lt: '1', now, inMsg, outMsgs };
  const state = { origStatus: 'active', endStatus: 'active', aborted: false, skipReason: null, exitCode: 0 } as const;
  return { ...traces[0], transactions: [{ ...sender, ...state }, ...called] };
}

/** The same once more, as other messages. */
function again(trace: Trace): Trace {
  const other = (message: TraceMessage) => ({ ...message, hash: digest(message.hash) });
  const transactions = trace.transactions.map((one) => {
    const { hash, inMsg, outMsgs } = one;
    return { ...one, hash: digest(hash), inMsg: inMsg && other(inMsg), outMsgs: outMsgs.map(other) };
  });
  return { ...trace, transactions };
}

function both(a: KnownContracts, b: KnownContracts): KnownContracts {
  return {
    jettonWallet: (address) => a.jettonWallet(address) ?? b.jettonWallet(address),
    nftItem: (address) => a.nftItem(address) ?? b.nftItem(address),
    nftSale: (address) => a.nftSale(address) ?? b.nftSale(address),
    nftAuction: (address) => a.nftAuction(address) ?? b.nftAuction(address),
    multisigOrder: (address) => a.multisigOrder(address) ?? b.multisigOrder(address),
    dedustPool: (address) => a.dedustPool(address) ?? b.dedustPool(address),
    isNominatorPool: (address) => a.isNominatorPool(address) || b.isNominatorPool(address),
    data: (address) => a.data(address) ?? b.data(address),
  };
}

/** Actions as text in an order of their own, each id once. */
function told(actions: readonly Action[]): string[] {
  expect(new Set(actions.map(({ id }) => id)).size).toBe(actions.length);
  return actions
    .map(({ transactions, accounts, ...rest }) =>
      JSON.stringify([rest, [...transactions].sort(), [...accounts].sort()]),
    )
    .sort();
}

/** A wallet's messages, but for those that are another trace's with other accounts. */
function isSentByWallet({ name, trace }: TraceFixture): boolean {
  const { inMsg, outMsgs } = rootOf(trace);
  if (/_[bc]$/.test(name) || trace.transactions.length > 60) return false;
  return inMsg !== null && inMsg.source === null && outMsgs.length > 0;
}

/** Contracts of a deposit to DeDust are the same when it is made again: then three or more are not told apart. */
const FOLDED = 'k0yADcY39ZkSu5Y7keHvfMzFyadhlDZ1OvxH-c8aU7M=';

describe.skipIf(shelf === null)('told together as apart', () => {
  const fixtures = shelf === null ? [] : traceFixtures().filter(isSentByWallet);

  it('beside another trace', () => {
    const unlike: string[] = [];
    for (const [at, one] of fixtures.entries()) {
      const next = fixtures[(at + 7) % fixtures.length];
      const [a, b] = [one.trace, again(next.trace)];
      const known = both(one.known, next.known);
      const apart = [a, b].flatMap((trace) => classify(batch([trace]), known).actions);
      const { state, actions } = classify(batch([a, b]), known);
      if (state !== 'ok' || told(actions).join() !== told(apart).join()) unlike.push(`${one.name} and ${next.name}`);
    }
    expect(unlike).toEqual([]);
    expect(fixtures.length).toBeGreaterThan(150);
  });

  it('beside the same once more', () => {
    const unlike: string[] = [];
    for (const { name, trace, known } of fixtures) {
      const twins = [trace, again(trace)];
      const apart = twins.flatMap((one) => classify(batch([one]), known).actions);
      const { state, actions } = classify(batch(twins), known);
      if (state !== 'ok' || told(actions).join() !== told(apart).join()) unlike.push(name);
    }
    expect(unlike).toEqual([FOLDED]);
  });
});
