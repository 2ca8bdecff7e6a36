/** Who confirms an item need be nothing itself, and an item may be something else in between. */
import { expect, test } from 'vitest';
import { RowWriter } from '../../../clickhouse/rowbinary.ts';
import { encodeState } from '../../../clickhouse/states.ts';
import {
  accountData,
  accounts as accountTable,
  codes as codeTable,
  learnedAccounts,
} from '../../../clickhouse/tables/accounts.ts';
import { nftItems } from '../../../clickhouse/tables/nfts.ts';
import { contractWaits } from '../../../clickhouse/tables/services.ts';
import { addressOf } from '../../../src/chain/address.ts';
import { Builder, type Cell, toBoc } from '../../../src/chain/builder.ts';
import { plain, updateDictionary } from '../../../src/chain/dictionary.ts';
import { methodId } from '../../../src/chain/interfaces.ts';
import { address as addressLayout } from '../../../src/chain/layouts/addresses.ts';
import type { Address } from '../../../src/chain/model.ts';
import { readConfig } from '../../../src/config.ts';
import { newCounters } from '../counters.ts';
import type { DecodedStep } from '../decode.ts';
import type { ProjectionContext } from '../projection.ts';
import { createStepRows, type GrowingRows } from '../step-rows.ts';
import { contracts } from './projection.ts';

const { signal } = new AbortController();
const [ITEM, COLLECTION, OWNER] = [1, 2, 3].map((byte) => addressOf(0, Buffer.alloc(32, byte)));
const cell = (byte: number): Cell => new Builder().u(byte, 8).cell();
const slice = (account: Address): Cell => {
  const builder = new Builder();
  addressLayout.write(builder, account);
  return builder.cell();
};

interface Method {
  hex: string;
  refs?: readonly Cell[];
}

/** `SETCP0, DICTPUSHCONST 19, DICTIGETJMPZ, THROWARG 11`: code whose get-methods can be told from it. */
function codeOf(methods: Record<string, Method>): Cell {
  const changes = Object.entries(methods).map(([name, { hex, refs = [] }]) => {
    const key = Buffer.from((methodId(name) << 5).toString(16).padStart(6, '0'), 'hex');
    const value = refs.reduce((builder, ref) => builder.ref(ref), new Builder().bytes(Buffer.from(hex, 'hex')));
    return { key, leaf: { extra: null, value: value.cell() } };
  });
  const { root } = updateDictionary(null, 19, plain, changes);
  if (root === null) throw new Error('a dictionary with keys has a root');
  return new Builder()
    .u(0xff00, 16)
    .u(0xf4a4 >> 2, 14)
    .u(19, 10)
    .u(0xf4bc, 16)
    .u(0xf2c80b, 24)
    .ref(root)
    .cell();
}

/** TEP-64, off the chain. */
const uri = new Builder().u(1, 8).bytes(Buffer.from('ipfs://7')).cell();

/** -1, 7, the collection, the owner, the content. */
const item = codeOf({
  get_nft_data: { hex: '7f77898988', refs: [slice(COLLECTION), slice(OWNER), uri] },
});
/** Drops the index and names the item; of index and content leaves the content. Says nothing of itself. */
const confirmer = codeOf({
  get_nft_address_by_index: { hex: '3089', refs: [slice(ITEM)] },
  get_nft_content: { hex: '31' },
});
const nothing = codeOf({ get_nothing: { hex: '70' } });

interface Change {
  account: Address;
  lt: number;
  code: Cell;
  data: Cell;
  /** Where the step shows it. */
  showsData?: boolean;
  isLearned?: boolean;
}

function stepOf(mcSeqno: number, changes: readonly Change[]): GrowingRows {
  const rows = createStepRows(mcSeqno);
  for (const { account, lt: n, code, data, showsData = true, isLearned = false } of changes) {
    const [codeHash, dataHash, lt] = [code.hash(), data.hash(), String(n)];
    const state = {
      status: 'active',
      balance: '1',
      extraCurrencies: {},
      frozenHash: null,
      codeHash,
      dataHash,
    } as const;
    const packed = { account, lt, mcSeqno, hash: dataHash, lastTransactionHash: dataHash, state: encodeState(state) };
    rows.add(accountTable, { ...packed, status: 'active', balance: '1', codeHash });
    if (isLearned) rows.add(learnedAccounts, packed);
    if (showsData) rows.add(accountData, { account, lt, mcSeqno, dataHash, boc: toBoc(data) });
    rows.add(codeTable, { codeHash, boc: toBoc(code), methods: [] });
  }
  return rows;
}

/** Tables with what was written of them: who waits, and the newest data. */
function tablesOf(written: readonly GrowingRows[]): ProjectionContext['clickhouse'] {
  const answers: Record<string, (row: RowWriter) => void> = {
    'reading which contracts wait': (row) => {
      for (const wait of written.flatMap((rows) => rows.of(contractWaits))) {
        row.fixed(wait.missing);
        row.fixed(wait.address);
        row.u32(wait.mcSeqno);
        row.bool(wait.waits);
      }
    },
    'reading account data': (row) => {
      const newest = written
        .flatMap((rows) => rows.of(accountData).filter(({ account }) => account.equals(ITEM)))
        .at(-1);
      if (newest) row.string(newest.boc);
    },
  };
  return {
    async query(_sql: string, { label }: { label: string }) {
      const row = new RowWriter();
      answers[label]?.(row);
      return Buffer.concat(row.take());
    },
  } as ProjectionContext['clickhouse'];
}

/** Rows of items as the projection writes them, in batches of so many steps. */
async function itemsOf(steps: readonly (readonly Change[])[], batchSteps: number) {
  const written: GrowingRows[] = [];
  const projection = contracts.open({
    clickhouse: tablesOf(written),
    config: readConfig([], {}).config,
    counters: newCounters(),
    name: () => undefined,
  } as unknown as ProjectionContext);
  try {
    for (let at = 0; at < steps.length; at += batchSteps) {
      const made = steps.slice(at, at + batchSteps).map((changes, i) => stepOf(at + i + 1, changes));
      const header = { genUtime: 1_750_000_000, genSoftware: { version: 13, capabilities: '1023' } };
      const decoded = made.map(
        ({ mcSeqno }) => ({ mcSeqno, blocks: [{ record: { header } }] }) as unknown as DecodedStep,
      );
      const number = at + 1;
      const opened = await projection.begin({ number, firstMcSeqno: made[0].mcSeqno }, decoded, signal);
      await opened.project(made);
      written.push(...made);
      projection.written?.(number);
    }
  } finally {
    await projection.close?.();
  }
  return written.flatMap((rows) =>
    rows.of(nftItems).map(({ id, mcSeqno, lastTransactionLt, dataHash }) => {
      return { step: Number(id) / 2 ** 24, mcSeqno, lt: lastTransactionLt, dataHash };
    }),
  );
}

const sizes = [1, 2, 3];

test.each(sizes)('an item is listed in the step that shows who confirms it, in batches of %i', async (batchSteps) => {
  const steps: Change[][] = [
    [{ account: ITEM, lt: 1, code: item, data: cell(1) }],
    [{ account: COLLECTION, lt: 1, code: confirmer, data: cell(0), isLearned: true }],
    [{ account: ITEM, lt: 3, code: item, data: cell(3) }],
  ];
  expect(await itemsOf(steps, batchSteps)).toEqual([
    { step: 2, mcSeqno: 2, lt: '1', dataHash: cell(1).hash() },
    { step: 2, mcSeqno: 3, lt: '3', dataHash: cell(3).hash() },
  ]);
});

test.each(sizes)(
  'an item that was something else meanwhile is told by its data, in batches of %i',
  async (batchSteps) => {
    const steps: Change[][] = [
      [
        { account: COLLECTION, lt: 1, code: confirmer, data: cell(0) },
        { account: ITEM, lt: 1, code: item, data: cell(1) },
      ],
      [{ account: ITEM, lt: 2, code: nothing, data: cell(2) }],
      [{ account: ITEM, lt: 3, code: item, data: cell(2), showsData: false }],
    ];
    expect(await itemsOf(steps, batchSteps)).toEqual([
      { step: 1, mcSeqno: 1, lt: '1', dataHash: cell(1).hash() },
      { step: 1, mcSeqno: 3, lt: '3', dataHash: cell(2).hash() },
    ]);
  },
);
