import { readFileSync } from 'node:fs';
import { Cell } from '@ton/core';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { RECORDINGS, type RecordedChain, recordedChain } from '../../../../test/recorded-chain.ts';
import { requireShelf, shelf } from '../../../../test/shelf.ts';
import * as schemas from '../schemas.ts';
import { blockJson } from './block.ts';
import { createBook } from './book.ts';
import { messageRowJson } from './message.ts';
import { transactionJson } from './transaction.ts';

/** What a recorded answer holds that a block alone does not tell, or that the reference's build did not know. */
const UNKNOWN = new Set(['trace_id', 'account_state_before', 'account_state_after', 'decoded', 'decoded_opcode']);

type Row = Record<string, unknown>;
const Rows = z.array(z.looseObject({}));
const Envelope = z.looseObject({
  transactions: Rows.optional(),
  messages: Rows.optional(),
  blocks: Rows.optional(),
  first: z.looseObject({}).optional(),
  last: z.looseObject({}).optional(),
});
const ENDPOINTS = new Set([
  'masterchainInfo',
  'blocks',
  'masterchainBlockShardState',
  'masterchainBlockShards',
  'transactions',
  'transactionsByMasterchainBlock',
  'transactionsByMessage',
  'adjacentTransactions',
  'messages',
]);

/** The row without what is unknown; bags of cells stand for the hash of their root, as their bytes may differ. */
function comparable(value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('te6cc')) return Cell.fromBase64(value).hash().toString('hex');
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !UNKNOWN.has(key))
      .map(([key, inner]) => [key, comparable(inner)]),
  );
}

describe.skipIf(shelf === null).each(RECORDINGS)('answers of the reference service over %s blocks', (recording) => {
  let chain: RecordedChain;
  const recorded = {
    blocks: new Map<string, Row>(),
    transactions: new Map<string, Row>(),
    messages: new Map<string, Row>(),
  };

  beforeAll(() => {
    chain = recordedChain(recording);
    for (const { endpoint, status, body } of chain.cases) {
      if (status !== 200 || !ENDPOINTS.has(endpoint)) continue;
      const { blocks = [], transactions = [], messages = [], first, last } = Envelope.parse(body);
      for (const row of [...blocks, first, last]) if (row) recorded.blocks.set(String(row.root_hash), row);
      for (const row of transactions) recorded.transactions.set(String(row.hash), row);
      for (const row of messages) recorded.messages.set(`${row.hash}${row.in_msg_tx_hash}${row.out_msg_tx_hash}`, row);
    }
  });

  const ajv = new Ajv2020({ allowUnionTypes: true });
  if (shelf !== null) ajv.addSchema(JSON.parse(readFileSync(`${requireShelf()}/spec/v3/schemas.json`, 'utf8')), 'v3');
  const check = (name: string, zodType: z.ZodType, json: string): unknown => {
    const value: unknown = JSON.parse(json);
    const validate = ajv.getSchema(`v3#/$defs/${name}`)!;
    expect(validate(value), ajv.errorsText(validate.errors)).toBe(true);
    zodType.parse(value);
    return value;
  };

  it('renders the same blocks', () => {
    expect(recorded.blocks.size).toBeGreaterThan(80);
    for (const [hash, row] of recorded.blocks) {
      const ours = check('Block', schemas.block, blockJson(chain.blocks.get(hash)!));
      expect(ours).toEqual(row);
    }
  });

  it('renders the same transactions', () => {
    expect(recorded.transactions.size).toBeGreaterThan(500);
    for (const [hash, row] of recorded.transactions) {
      const json = transactionJson(chain.transactions.get(hash)!, createBook(false));
      const ours = check('Transaction', schemas.transaction, json);
      expect(comparable(ours), hash).toEqual(comparable(row));
      for (const side of ['account_state_before', 'account_state_after']) {
        const stateHash = (of: unknown) =>
          z.looseObject({ [side]: z.looseObject({ hash: z.string() }) }).parse(of)[side].hash;
        expect(stateHash(ours)).toBe(stateHash(row));
      }
    }
  });

  it('renders the same messages', () => {
    expect(recorded.messages.size).toBeGreaterThan(100);
    for (const row of recorded.messages.values()) {
      const record = { ...chain.messages.get(String(row.hash))! };
      if (row.in_msg_tx_hash === undefined) record.inTxHash = null;
      if (row.out_msg_tx_hash === undefined) record.outTxHash = null;
      const ours = check('Message', schemas.message, messageRowJson(record, createBook(false)));
      expect(comparable(ours)).toEqual(comparable(row));
    }
  });

  it('notes exactly the addresses that the reference puts into the book', () => {
    const Book = z.looseObject({ address_book: z.record(z.string(), z.unknown()) });
    for (const { endpoint, status, path, body } of chain.cases) {
      if (status !== 200 || !ENDPOINTS.has(endpoint) || path.includes('x_no')) continue;
      const { transactions, messages } = Envelope.parse(body);
      if (transactions === undefined && messages === undefined) continue;
      const book = createBook(false);
      for (const row of transactions ?? []) transactionJson(chain.transactions.get(String(row.hash))!, book);
      for (const row of messages ?? []) messageRowJson(chain.messages.get(String(row.hash))!, book);
      const records = book.addresses().map((account) => ({ account, codeHash: null, methods: null }));
      const ours = check('AddressBook', schemas.addressBook, book.json(records));
      expect(Object.keys(schemas.addressBook.parse(ours)), path).toEqual(Object.keys(Book.parse(body).address_book));
    }
  });
});
