import { Cell } from '@ton/core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createFakeSource } from '../../test/fake-source.ts';
import { commentBody, madeBlock, madeMessage, madeTransaction } from '../../test/made-chain.ts';
import { RECORDINGS, type RecordedChain, recordedChain } from '../../test/recorded-chain.ts';
import { shelf } from '../../test/shelf.ts';
import { rawAddress } from '../chain/address.ts';
import type { BlockRecord, TransactionRecord } from '../chain/records.ts';
import { type ChainView, readChainView, type TransactionView } from './chain-view.ts';

const rows = <T>(found: T[]) => ({ rows: found, nextCursor: null });

interface Shown {
  blocks?: BlockRecord[];
  transactions?: TransactionRecord[];
  head?: number;
  testOnly?: boolean;
}

function view({ blocks = [], transactions = [], head = 1_000_000_000, testOnly = false }: Shown): Promise<ChainView> {
  const { source } = createFakeSource({
    blocks: async () => rows(blocks),
    transactions: async () => rows(transactions),
  });
  const context = { signal: new AbortController().signal, timeoutMs: 1_000 };
  return readChainView({ source, head, network: -239, testOnly, context });
}

async function shown(parts: Omit<Parameters<typeof madeTransaction>[0], 'name' | 'mcSeqno'>): Promise<TransactionView> {
  const { transactions } = await view({ transactions: [madeTransaction({ name: 'a', mcSeqno: 1, ...parts })] });
  return transactions[0];
}

/** What the reference service said of a transaction. */
const Reference = z.looseObject({
  transactions: z.array(
    z.looseObject({
      account: z.string(),
      hash: z.string(),
      total_fees: z.string(),
      now: z.number(),
      in_msg: z
        .looseObject({
          value: z.string().nullable(),
          opcode: z.string().nullable(),
          message_content: z.looseObject({ body: z.string().nullable() }).nullable(),
        })
        .nullable(),
      out_msgs: z.array(z.looseObject({ value: z.string().nullable() })),
      description: z.looseObject({
        type: z.string(),
        compute_ph: z.looseObject({ success: z.boolean().optional(), exit_code: z.number().optional() }).optional(),
      }),
    }),
  ),
  address_book: z.record(z.string(), z.looseObject({ user_friendly: z.string().nullable() })),
});
type Row = z.infer<typeof Reference>['transactions'][number];

function referenceRows(chain: RecordedChain) {
  const found = new Map<string, { row: Row; friendly: string | null }>();
  for (const { status, body } of chain.cases) {
    const answer = status === 200 ? Reference.safeParse(body).data : undefined;
    for (const row of answer?.transactions ?? []) {
      found.set(row.hash, { row, friendly: answer?.address_book[row.account]?.user_friendly ?? null });
    }
  }
  return found;
}

/** The text of a comment as @ton/core reads it. */
function commentIn(body: string): string | null {
  const slice = Cell.fromBase64(body).beginParse();
  if (slice.remainingBits < 32 || slice.loadUint(32) !== 0) return null;
  return slice.loadStringTail();
}

describe.skipIf(shelf === null).each(RECORDINGS)(
  'transactions of the reference service over %s blocks',
  (recording) => {
    const chain = shelf === null ? null : recordedChain(recording);

    it('are shown as the reference knows them', async () => {
      if (chain === null) return;
      let compared = 0;
      for (const [hash, { row, friendly }] of referenceRows(chain)) {
        const record = chain.transactions.get(hash);
        if (record === undefined) continue;
        const after = chain.accounts.get(rawAddress(record.transaction.account)) ?? null;
        const [found] = (await view({ transactions: [{ ...record, after }] })).transactions;
        const incoming = row.in_msg?.value ?? null;
        expect(found).toMatchObject({ hash, utime: row.now, fees: row.total_fees });
        if (incoming !== null) expect([found.value, found.direction]).toEqual([incoming, 'in']);
        else {
          const sent = row.out_msgs.reduce((sum, { value }) => sum + BigInt(value ?? 0), 0n);
          expect([found.value ?? '0', found.direction]).toEqual([sent.toString(), 'out']);
        }
        if (after !== null && friendly !== null) expect(found.account).toBe(friendly);
        if (row.description.compute_ph?.success === false) {
          expect(found.failure).toBe(`exit ${row.description.compute_ph.exit_code}`);
        }
        const body = row.in_msg?.message_content?.body ?? null;
        const comment =
          incoming !== null && body !== null && row.in_msg?.opcode === '0x00000000' ? commentIn(body) : null;
        if (comment !== null && comment.length <= 160 && !comment.includes('\ufffd')) {
          expect(found.comment ?? '').toBe(comment.trim());
        }
        compared++;
      }
      expect(compared).toBeGreaterThan(20);
    });
  },
);

describe('chain view', () => {
  it('asks nothing of an empty chain', async () => {
    const { source, asked } = createFakeSource();
    const context = { signal: new AbortController().signal, timeoutMs: 1_000 };
    const empty = await readChainView({ source, head: 0, network: null, testOnly: false, context });
    expect(empty).toMatchObject({ head: null, steps: [], transactions: [] });
    expect(asked).toEqual([]);
  });

  it('groups blocks by step, the masterchain first, and adds up transactions', async () => {
    const shard = '4000000000000000';
    const { steps, activity, perSecond } = await view({
      blocks: [
        madeBlock({ workchain: 0, shard: 'c000000000000000', seqno: 41, mcSeqno: 12, txCount: 5, utime: 105 }),
        madeBlock({ workchain: 0, shard, seqno: 40, mcSeqno: 12, txCount: 2, utime: 104 }),
        madeBlock({ mcSeqno: 12, txCount: 3, utime: 106 }),
        madeBlock({ mcSeqno: 11, txCount: 90, utime: 102 }),
      ],
    });
    expect(steps.map(({ seqno, utime, transactions }) => [seqno, utime, transactions])).toEqual([
      [12, 106, 10],
      [11, 102, 90],
    ]);
    expect(steps[0].blocks.map((block) => [block.workchain, block.shard, block.seqno])).toEqual([
      [-1, '8000000000000000', 12],
      [0, '4000000000000000', 40],
      [0, 'C000000000000000', 41],
    ]);
    expect(activity).toEqual([
      { seqno: 11, transactions: 90 },
      { seqno: 12, transactions: 10 },
    ]);
    expect(perSecond).toBe(10 / 4);
  });

  it('shows nothing above the head', async () => {
    const transactions = [5, 4].map((mcSeqno) => madeTransaction({ name: `tx ${mcSeqno}`, mcSeqno }));
    const blocks = [5, 4].map((mcSeqno) => madeBlock({ mcSeqno }));
    const found = await view({ blocks, transactions, head: 4 });
    expect(found.steps.map(({ seqno }) => seqno)).toEqual([4]);
    expect(found.transactions.map(({ mcSeqno }) => mcSeqno)).toEqual([4]);
  });

  it('leaves out the oldest step of a full page, which may lack blocks', async () => {
    const blocks = Array.from({ length: 160 }, (_, index) =>
      madeBlock({ mcSeqno: 1_000 - Math.floor(index / 40), seqno: index }),
    );
    const { activity } = await view({ blocks });
    expect(activity.map(({ seqno }) => seqno)).toEqual([998, 999, 1_000]);
  });

  it.each([
    ['tick', { description: { type: 'tick_tock', isTock: false } }],
    ['tock', { description: { type: 'tick_tock', isTock: true } }],
    ['split', { description: { type: 'split_prepare' } }],
    ['merge', { description: { type: 'merge_install' } }],
    ['storage', { description: { type: 'storage' }, transaction: { inMsg: null } }],
    ['transfer', {}],
    ['call', { transaction: { inMsg: madeMessage({ opcode: 0x0f8a7ea5 }) } }],
    ['bounce', { transaction: { inMsg: madeMessage({ bounced: true, opcode: 0xffffffff }) } }],
    ['external', { transaction: { inMsg: madeMessage({ kind: 'external_in', value: null, opcode: 7 }) } }],
    ['deploy', { transaction: { origStatus: 'uninit', endStatus: 'active' } }],
  ] as const)('calls it %s', async (kind, parts) => {
    expect((await shown(parts)).kind).toBe(kind);
  });

  it('names the opcode of calls only', async () => {
    expect((await shown({ transaction: { inMsg: madeMessage({ opcode: 0x0f8a7ea5 }) } })).opcode).toBe('0x0f8a7ea5');
    expect((await shown({ transaction: { inMsg: madeMessage({ opcode: 0 }) } })).opcode).toBeNull();
    const inMsg = madeMessage({ kind: 'external_in', value: null, opcode: 7 });
    expect((await shown({ transaction: { inMsg } })).opcode).toBeNull();
  });

  it.each([
    ['no state', 'no_state', null],
    ['no gas', 'no_gas', 'no gas'],
    ['bad state', 'bad_state', 'bad state'],
  ] as const)('skipped for %s', async (_name, reason, failure) => {
    const description = { aborted: true, compute: { skipped: true, reason } } as const;
    expect((await shown({ description })).failure).toBe(failure);
  });

  it('says that the value went back', async () => {
    const bounce = { type: 'ok', cells: '0', bits: '0', msgFees: '1', fwdFees: '1' } as const;
    const compute = { skipped: true, reason: 'no_state' } as const;
    expect((await shown({ description: { compute, bounce } })).failure).toBe('bounced');
  });

  it('keeps comments that are text, the begin of long ones', async () => {
    const commentOf = async (text: string) => {
      const inMsg = madeMessage({ opcode: 0, bodyBoc: () => commentBody(text) });
      return (await shown({ transaction: { inMsg } })).comment;
    };
    expect(await commentOf('<b>hi</b> & “bye”')).toBe('<b>hi</b> & “bye”');
    expect(await commentOf('  ')).toBeNull();
    const long = await commentOf(`${'a'.repeat(159)}👍${'b'.repeat(500)}`);
    expect(long).toBe(`${'a'.repeat(159)}…`);
  });

  it('writes addresses with the test flag where asked', async () => {
    const transactions = [madeTransaction({ name: 'a', mcSeqno: 1 })];
    const first = async (testOnly: boolean) => (await view({ transactions, testOnly })).transactions[0].account[0];
    expect([await first(false), await first(true)]).toEqual(['U', '0']);
  });
});
