import { expect, test } from 'vitest';
import { drawn, random, rounds } from '../../../test/chance.ts';
import { shelf } from '../../../test/shelf.ts';
import { type TraceFixture, traceFixtures } from '../../../test/trace-fixtures.ts';
import { Builder, Cell } from '../builder.ts';
import { DecodeError } from '../errors.ts';
import { CellView } from '../layouts/cell-view.ts';
import { classify } from './classify.ts';
import type { KnownContracts } from './known.ts';
import { type Trace, TraceError, type TraceMessage, type TraceTransaction } from './trace.ts';

const fixtures = shelf === null ? [] : traceFixtures();

/** What messages carry in the recorded traces: a change is mostly a piece of another trace. */
const messages = fixtures.flatMap(({ trace }) => trace.transactions.flatMap(({ inMsg }) => (inMsg ? [inMsg] : [])));
const accounts = [...new Set(messages.flatMap(({ source, destination }) => [source, destination]))];
const opcodes = [...new Set(messages.map(({ opcode }) => opcode))];

const one = <T>(of: readonly T[]): T => of[random(of.length)];

/** Any cell of a tree, some bits of it turned over, cut short or with references changed. */
function mutatedCell(cell: Cell, depth = 0): Cell {
  if (cell.exotic) return cell;
  if (cell.refs.length > 0 && random(3) > 0 && depth < 8) {
    const at = random(cell.refs.length);
    const refs = cell.refs.map((ref, i) => (i === at ? mutatedCell(ref, depth + 1) : ref));
    return new Cell(cell.data, cell.bits, refs);
  }
  const bits = random(3) === 0 ? random(cell.bits + 1) : cell.bits;
  const data = Buffer.from(cell.data.subarray(0, (bits + 7) >> 3));
  if (bits > 0) {
    const turned = random(bits);
    data[turned >> 3] ^= 0x80 >> (turned & 7);
  }
  if (bits & 7) {
    const tag = 0x80 >> (bits & 7);
    data[bits >> 3] = (data[bits >> 3] & -tag) | tag;
  }
  const refs = random(4) === 0 ? cell.refs.slice(random(cell.refs.length + 1)) : [...cell.refs];
  if (refs.length < 4 && random(8) === 0) refs.push(one([cell, library]));
  return new Cell(data, bits, refs);
}

const library = new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true);

const unreadable = (): CellView => {
  throw new DecodeError('no bag of cells');
};

function mutatedBody({ body }: TraceMessage): () => CellView {
  if (body === unreadable || random(6) === 0) return unreadable;
  const view = CellView.from(mutatedCell(body().build()));
  return () => view;
}

const VALUES = [null, '0', '1', '1329227995784915872903807060280344575'];

const messageChanges: ((message: TraceMessage) => Partial<TraceMessage>)[] = [
  (message) => ({ body: mutatedBody(message) }),
  (message) => ({ body: mutatedBody(message) }),
  () => one(messages),
  () => ({ opcode: one(opcodes) }),
  () => ({ body: one(messages).body }),
  () => ({ source: one(accounts) }),
  () => ({ destination: one(accounts) }),
  () => ({ value: one(VALUES) }),
  () => ({ createdLt: one([null, '0', '18446744073709551615']) }),
  () => ({ extraCurrencies: { 7: '1' }, bounce: one([null, true, false]) }),
  () => ({ init: one(messages).init }),
];

/** Keeps its hash most of the time, so that the tree stays one. */
function mutatedMessage(message: TraceMessage): TraceMessage {
  const changed = { ...message, ...one(messageChanges)(message) };
  return random(20) === 0 ? changed : { ...changed, hash: message.hash };
}

const STATUSES = ['nonexist', 'uninit', 'active', 'frozen'] as const;

const transactionChanges: ((transaction: TraceTransaction) => Partial<TraceTransaction>)[] = [
  ({ inMsg }) => ({ inMsg: inMsg === null ? one(messages) : mutatedMessage(inMsg) }),
  ({ inMsg }) => ({ inMsg: inMsg === null ? one(messages) : mutatedMessage(inMsg) }),
  ({ outMsgs }) => ({ outMsgs: outMsgs.map((message) => (random(3) === 0 ? mutatedMessage(message) : message)) }),
  ({ outMsgs }) => ({
    outMsgs: [...outMsgs, ...outMsgs.slice(random(outMsgs.length + 1)), { ...one(messages), destination: null }],
  }),
  ({ aborted }) => ({ aborted: !aborted }),
  () => ({ origStatus: one(STATUSES), endStatus: one(STATUSES) }),
  () => ({ account: one(accounts) ?? '' }),
  () => ({ lt: one(['0', '18446744073709551615']) }),
  () => ({ exitCode: one([null, 0, -14, 65535]), skipReason: one([null, 'no_gas', 'no_state']) }),
];

function mutatedTrace(trace: Trace): Trace {
  let transactions = trace.transactions;
  for (let changes = 1 + random(4); changes > 0; changes--) {
    const at = random(transactions.length);
    transactions = transactions.map((transaction, i) =>
      i === at ? { ...transaction, ...one(transactionChanges)(transaction) } : transaction,
    );
  }
  if (random(10) === 0) transactions = transactions.filter(() => random(6) > 0);
  return { ...trace, id: random(10) === 0 ? null : trace.id, transactions };
}

/** The answers of this trace or another, and some of them missing. */
function mutatedKnown(known: KnownContracts): KnownContracts {
  const other = one(fixtures).known;
  const mostly = <A, R>(ask: (address: A) => R, askOther: (address: A) => R) => {
    const missing = random(8);
    return (address: A): R => (missing === 0 ? askOther(address) : ask(address));
  };
  return {
    jettonWallet: mostly(known.jettonWallet, other.jettonWallet),
    nftItem: mostly(known.nftItem, other.nftItem),
    nftSale: mostly(known.nftSale, other.nftSale),
    nftAuction: mostly(known.nftAuction, other.nftAuction),
    multisigOrder: mostly(known.multisigOrder, other.multisigOrder),
    dedustPool: mostly(known.dedustPool, other.dedustPool),
    isNominatorPool: mostly(known.isNominatorPool, () => random(2) === 0),
    data: mostly(known.data, other.data),
  };
}

/** Bodies that are opened for a message of a trace: how long telling takes follows from it. A million traces had 5. */
const MOST_OPENED = 20;

/** The trace, and how many of its bodies were opened. */
function counted(trace: Trace): { trace: Trace; opened(): number } {
  let opened = 0;
  const message = (one: TraceMessage): TraceMessage => ({
    ...one,
    body() {
      opened++;
      return one.body();
    },
  });
  const transactions = trace.transactions.map((one) => ({
    ...one,
    inMsg: one.inMsg && message(one.inMsg),
    outMsgs: one.outMsgs.map(message),
  }));
  return { trace: { ...trace, transactions }, opened: () => opened };
}

function check({ trace, known, name }: TraceFixture): void {
  const { trace: mutated, opened } = counted(mutatedTrace(trace));
  const { state, actions, error } = classify(mutated, mutatedKnown(known));
  // What is no trace is refused as such; anything else that goes wrong is our own mistake.
  if (state === 'failed' && !(error instanceof TraceError)) throw new Error(`after ${name}`, { cause: error });
  let messages = 1;
  for (const { outMsgs } of mutated.transactions) messages += outMsgs.length;
  // A message is told by itself or in something, and that in something; it deploys one contract.
  expect(actions.length).toBeLessThanOrEqual(6 * messages);
  expect(opened()).toBeLessThanOrEqual(MOST_OPENED * messages);
  expect(JSON.stringify(actions).length).toBeLessThan(5_000_000);
}

/** A million takes some 20 minutes. */
const LONGEST_MS = 3_600_000;

test.skipIf(shelf === null)(
  'changed traces are told or refused, never thrown at',
  () => {
    for (const fixture of drawn(fixtures, rounds(3000, 1_000_000))) check(fixture);
  },
  LONGEST_MS,
);
