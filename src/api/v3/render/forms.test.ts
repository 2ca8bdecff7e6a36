import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { commentBody, madeAction, madeMessage, madeTransaction } from '../../../../test/made-chain.ts';
import { recordedBlocks } from '../../../../test/recorded-blocks.ts';
import { shelf } from '../../../../test/shelf.ts';
import { storedRecords } from '../../../../test/stored-records.ts';
import { traceFixtures } from '../../../../test/trace-fixtures.ts';
import type { Action } from '../../../chain/actions/action.ts';
import { classify } from '../../../chain/actions/classify.ts';
import { contentOf } from '../../../chain/actions/content.ts';
import { rawAddress } from '../../../chain/address.ts';
import type { ActionRecord, TransactionRecord } from '../../../chain/records.ts';
import { stateJson } from './account.ts';
import { actionForm, actionJson } from './action.ts';
import { createBook } from './book.ts';
import {
  formAddresses,
  formJson,
  formMessage,
  formMessages,
  formOf,
  formStateAfter,
  transactionForm,
} from './forms.ts';
import { messageRowJson } from './message.ts';
import { createRenderings } from './renderings.ts';
import { transactionJson } from './transaction.ts';

/** Of the forms of the recorded blocks. When it changes, so must VERSION in forms.ts: windows hold forms of before. */
const RECORDED = { version: '5-', digest: '758a111757693810' };

function inMessages(record: TransactionRecord): void {
  const { inMsg, outMsgs } = record.transaction;
  const form = formOf(record);
  const renderings = createRenderings({ maxBytes: 0 });
  [inMsg, ...outMsgs].forEach((message, index) => {
    if (message === null) return;
    const row = { message, globalVersion: record.globalVersion, inTxHash: message.hash, outTxHash: null };
    const books = [createBook(false), createBook(false)];
    const expected = messageRowJson(row, books[0]);
    const shown = renderings.message({ ...row, form: { transaction: form, index } }, books[1]).toString();
    expect(shown).toBe(expected);
    expect(books[1].addresses()).toEqual(books[0].addresses());
    const { kind, source, destination, hash } = message;
    const norm = kind === 'external_in' ? (message.hashNorm() ?? hash).toString('base64') : null;
    expect(formMessages(form).find((one) => one.index === index)).toEqual({
      index,
      hash: hash.toString('base64'),
      hashNorm: norm,
      source: source && rawAddress(source),
      destination: destination && rawAddress(destination),
    });
  });
}

function inWhole(record: TransactionRecord): void {
  const book = createBook(false);
  const json = transactionJson(record, book);
  const form = formOf(record);
  expect(formJson(form).toString()).toBe(json);
  expect(formAddresses(form)).toEqual(Buffer.concat(book.addresses()));
  expect(formStateAfter(form).toString()).toBe(stateJson(record.transaction.stateAfter, record.after));
}

describe.skipIf(shelf === null)('forms of recorded transactions', () => {
  const everything: TransactionRecord[] = [];
  beforeAll(async () => {
    for await (const { bytes } of recordedBlocks()) everything.push(...storedRecords(bytes).map((make) => make()));
  });

  it('say what is rendered, as a whole and message by message', () => {
    expect(everything.length).toBeGreaterThan(2_500);
    for (const record of everything) {
      inWhole(record);
      inMessages(record);
    }
  });

  it('are of the version that they were of', () => {
    const digest = createHash('sha256');
    for (const record of everything) digest.update(formOf(record));
    expect({ version: transactionForm.version.slice(0, 2), digest: digest.digest('hex').slice(0, 16) }).toEqual(
      RECORDED,
    );
  });
});

describe.skipIf(shelf === null)('forms of actions', () => {
  it('say what is rendered of every recorded trace', () => {
    const fixtures = traceFixtures();
    const actions = fixtures.flatMap(({ trace, known }) => classify(trace, known).actions);
    expect(actions.length).toBeGreaterThan(fixtures.length);
    for (const action of actions) {
      const record = actionRecord(action);
      const form = actionForm(record);
      for (const accounts of [true, false]) {
        const books = [createBook(false), createBook(false)];
        const rendered = actionJson(record, books[0], { accounts });
        expect(actionJson({ ...record, form }, books[1], { accounts })).toBe(rendered);
        expect(books[1].addresses()).toEqual(books[0].addresses());
      }
    }
  });
});

/** As the projection writes it down. */
function actionRecord({ type, details, accounts, success, startLt, endLt, ...action }: Action): ActionRecord {
  const hash = Buffer.alloc(32, 1);
  return {
    ...madeAction(hash),
    type,
    success,
    startLt,
    endLt,
    startUtime: action.startUtime,
    endUtime: action.endUtime,
    actionId: Buffer.from(action.id, 'base64'),
    ancestors: [...action.ancestors],
    externalHash: hash,
    transactions: Buffer.concat(action.transactions.map((one) => Buffer.from(one, 'base64'))),
    content: contentOf(details, accounts),
  };
}

describe('a form', () => {
  const comment = (text: string) => madeMessage({ opcode: 0, bodyBoc: () => commentBody(text) });
  const made = (inMsg: TransactionRecord['transaction']['inMsg'], ...texts: string[]) =>
    madeTransaction({ name: 'a', mcSeqno: 1, transaction: { inMsg, outMsgs: texts.map(comment) } });

  it.each([
    ['text beyond ASCII', made(comment('größer 🙂 "\\'), 'ещё', 'x', '鏡')],
    ['plain text', made(comment('hello'), 'world')],
    ['no in-message', made(null, 'ü', 'v')],
    ['no messages', made(null)],
  ])('holds %s', (_, record) => {
    inWhole(record);
    inMessages(record);
  });

  it('has no message that the transaction has not', () => {
    expect(() => formMessage(formOf(made(null, 'x')), 2)).toThrow('has no message 2');
  });

  it('is packed against text that all processes make alike', () => {
    const { dictionary } = transactionForm;
    expect(dictionary.length % 8).toBe(0);
    const keys = [
      '"account":"0:',
      '"description":{"type":"ord"',
      '"message_content":{"hash":"',
      '"finality":"finalized"}',
    ];
    for (const key of keys) expect(dictionary.toString()).toContain(key);
    expect(dictionary.toString()).not.toContain('\0');
  });
});
