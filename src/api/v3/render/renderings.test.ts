import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { encodeStates } from '../../../../clickhouse/states.ts';
import { madeTransaction } from '../../../../test/made-chain.ts';
import { blockFile } from '../../../../test/recorded-blocks.ts';
import { shelf } from '../../../../test/shelf.ts';
import { storedRecords } from '../../../../test/stored-records.ts';
import type { TransactionRecord } from '../../../chain/records.ts';
import { createBook } from './book.ts';
import { messageRowJson } from './message.ts';
import { createRenderings, type Renderings } from './renderings.ts';
import { transactionJson } from './transaction.ts';

const ROOM = 64 * 1024 * 1024;
const BLOCKS = ['0_c000000000000000_13516764', '0_8000000000000000_30816553'];

function rendered(renderings: Renderings, record: TransactionRecord) {
  const book = createBook(false);
  const json = renderings.transaction(record, book).toString();
  return { json, addresses: book.addresses().map((address) => address.toString('hex')) };
}

function anew(record: TransactionRecord) {
  const book = createBook(false);
  const json = transactionJson(record, book);
  return { json, addresses: book.addresses().map((address) => address.toString('hex')) };
}

describe.skipIf(shelf === null)('renderings of recorded transactions', () => {
  const everything = shelf === null ? [] : BLOCKS.flatMap((name) => storedRecords(readFileSync(blockFile(name))));

  it('are the same bytes and addresses whether kept, made, or not kept at all', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const nothing = createRenderings({ maxBytes: 0 });
    for (const make of everything) {
      const expected = anew(make());
      for (const how of [renderings, renderings, nothing]) expect(rendered(how, make())).toEqual(expected);
    }
    expect(renderings.figures).toMatchObject({ made: everything.length, kept: everything.length });
    expect(nothing.figures).toMatchObject({ made: everything.length, kept: 0, bytes: 0 });
  });

  it('do not open a transaction that is kept', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const [make] = everything;
    const expected = rendered(renderings, make());
    const transaction = new Proxy(make().transaction, {
      get: () => {
        throw new Error('opened');
      },
    });
    expect(rendered(renderings, { ...make(), transaction })).toEqual(expected);
  });

  it('are made anew when anything that is shown differs', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const [make, other] = everything;
    const record = make();
    const state = { status: 'active', balance: '5', extraCurrencies: {}, frozenHash: null, codeHash: null } as const;
    const after = { ...state, dataHash: null };
    const payload = record.stored?.payload ?? Buffer.alloc(0);
    const differing: Partial<TransactionRecord>[] = [
      { traceId: null },
      { traceId: Buffer.alloc(32, 7) },
      { mcSeqno: 2 },
      { globalVersion: record.globalVersion + 1 },
      { block: { ...record.block, seqno: 5 } },
      { block: { ...record.block, workchain: -1 } },
      { block: { ...record.block, shard: '4000000000000000' } },
      { after, stored: { payload, states: encodeStates(record.before, after) } },
      { transaction: other().transaction, stored: { payload: Buffer.concat([payload, payload]), states: payload } },
    ];
    for (const difference of differing) {
      rendered(renderings, make());
      const changed = { ...make(), ...difference };
      expect(rendered(renderings, changed)).toEqual(anew(changed));
    }
    expect(renderings.figures.kept).toBe(0);
  });

  it('stay what they are when the page that they came in is used for something else', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const [make] = everything;
    const { stored, ...rest } = make();
    if (stored === undefined || rest.traceId === null) throw new Error('not a stored record');
    const page = { payload: Buffer.from(stored.payload), states: Buffer.from(stored.states) };
    const traceId = Buffer.from(rest.traceId);
    const expected = rendered(renderings, { ...rest, traceId, stored: page });
    for (const bytes of [page.payload, page.states, traceId]) bytes.fill(0);
    expect(rendered(renderings, make())).toEqual(expected);
    expect(renderings.figures.kept).toBe(1);
  });

  it('of messages are the same whether kept or made, and made anew when their ends differ', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const rows = everything.slice(0, 50).flatMap((make) => {
      const { transaction, globalVersion } = make();
      const { inMsg, outMsgs, hash } = transaction;
      return [...(inMsg ? [inMsg] : []), ...outMsgs].flatMap((message) =>
        [null, hash].map((inTxHash) => ({ message, globalVersion, inTxHash, outTxHash: null })),
      );
    });
    for (let i = 0; i < 2; i++) {
      for (const row of rows) {
        const [expected, shown] = [createBook(false), createBook(false)];
        const text = messageRowJson(row, expected);
        expect(renderings.message(row, shown).toString()).toBe(text);
        expect(shown.addresses()).toEqual(expected.addresses());
      }
    }
  });

  it('do not open a message that is kept', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const [make] = everything;
    const { transaction, globalVersion } = make();
    const message = transaction.inMsg ?? transaction.outMsgs[0];
    const row = { globalVersion, inTxHash: null, outTxHash: null };
    const expected = renderings.message({ message, ...row }, createBook(false));
    const closed = new Proxy(message, {
      get: (_, name) => {
        if (name === 'hash') return message.hash;
        throw new Error('opened');
      },
    });
    expect(renderings.message({ message: closed, ...row }, createBook(false))).toEqual(expected);
  });

  it('take no more room than they are given', () => {
    const maxBytes = 400_000;
    const renderings = createRenderings({ maxBytes });
    for (const make of everything) {
      rendered(renderings, make());
      expect(renderings.figures.bytes).toBeLessThanOrEqual(maxBytes);
    }
    expect(renderings.figures.bytes).toBeGreaterThan(maxBytes / 2);
    const last = everything[everything.length - 1];
    rendered(renderings, last());
    expect(renderings.figures.kept).toBe(1);
  });
});

describe('renderings', () => {
  it('render what was not read from bytes', () => {
    const renderings = createRenderings({ maxBytes: ROOM });
    const record = madeTransaction({ name: 'a', mcSeqno: 1 });
    for (let i = 0; i < 2; i++) expect(rendered(renderings, record)).toEqual(anew(record));
    expect(renderings.figures).toEqual({ formed: 0, made: 2, kept: 0, bytes: 0 });
  });
});
