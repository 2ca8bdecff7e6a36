/** External messages that a contract takes again and again, as everything tells of who received them. */
import { beginCell, Cell } from '@ton/core';
import { expect, it } from 'vitest';
import { parseBoc } from '../src/chain/builder.ts';
import { hashKey } from '../src/chain/hash.ts';
import type { Hash } from '../src/chain/model.ts';
import {
  ANY_ACTION,
  ANY_MESSAGE,
  type TransactionRecord,
  type TransactionsByMessageFilter,
} from '../src/chain/records.ts';
import type { GenesisAccount } from '../src/devnet/model.ts';
import { archiveOf, LARGE_SLAB } from './archived.ts';
import { madeHash } from './made-chain.ts';
import type { PeopledDevnet } from './peopled-devnet.ts';
import { context, type Projected, type SharedWindows, type Windowed, windowFrom } from './windowed.ts';

/** Takes every message, and remembers none. */
export const OPEN_DOOR: GenesisAccount = {
  workchain: 0,
  hash: madeHash('open door'),
  balance: 1_000_000_000n,
  // SETCP0, ACCEPT
  code: parseBoc(beginCell().storeUint(0xff00f800, 32).endCell().toBoc()),
  data: parseBoc(new Cell().toBoc()),
};

const BODY = beginCell().storeUint(0x6b6e6f63, 32).endCell();

/** Behind a fee that nobody asks for, the body in the cell of the message or in one of its own. */
function knock(importFee: number, inline: boolean): Cell {
  const head = beginCell().storeUint(0b10, 2).storeUint(0, 2);
  head.storeUint(0b100, 3).storeInt(OPEN_DOOR.workchain, 8).storeBuffer(OPEN_DOOR.hash);
  head.storeCoins(importFee).storeBit(false);
  return inline
    ? head.storeBit(false).storeSlice(BODY.asSlice()).endCell()
    : head.storeBit(true).storeRef(BODY).endCell();
}

/** The first is the normal form of all three. */
const KNOCKS = [knock(0, false), knock(0, true), knock(1, false)];
/** Steps in which all of them come. */
const KNOCKED = [2, 12, 33];

/** The devnet, with somebody at the door. */
export function knockedAt(devnet: PeopledDevnet): PeopledDevnet {
  return {
    ...devnet,
    step() {
      if (KNOCKED.includes(devnet.chain.head().mc.seqno + 1)) {
        for (const message of KNOCKS) expect(devnet.chain.submit(message.toBoc())).toMatchObject({ accepted: true });
      }
      return devnet.step();
    },
  };
}

type Served = Pick<Projected, 'tables' | 'steps' | 'clickhouse'> & { windows: SharedWindows };

export function describeRepeatedExternals(served: () => Served): void {
  const [normal, ...others] = KNOCKS.map((message) => message.hash());
  const hashesOf = (found: readonly TransactionRecord[]): string[] =>
    found.map(({ transaction }) => hashKey(transaction.hash)).sort();

  async function expectAll({ source }: Pick<Windowed, 'source'>): Promise<void> {
    const page = { limit: 100, offset: 0 };
    const received = (filter: Partial<TransactionsByMessageFilter>) =>
      source.transactionsByMessage({ messageHashes: [], sort: 'asc', page, ...filter }, context());
    const all = await received({ messageHashes: [normal] });
    expect(all.map(({ mcSeqno }) => mcSeqno)).toEqual(KNOCKED.flatMap((seqno) => KNOCKS.map(() => seqno)));
    const own = (hash: Hash) => all.filter(({ transaction: { inMsg } }) => inMsg?.hash.equals(hash));
    for (const hash of others) {
      const found = await received({ messageHashes: [hash] });
      expect(found.map(({ mcSeqno }) => mcSeqno)).toEqual(KNOCKED);
      expect(hashesOf(found)).toEqual(hashesOf(own(hash)));
      expect(await received({ messageHashes: [hash], direction: 'out' })).toEqual([]);
      const last = await received({ messageHashes: [hash], sort: 'desc', page: { limit: 1, offset: 0 } });
      expect(last.map(({ mcSeqno }) => mcSeqno)).toEqual(KNOCKED.slice(-1));
    }
    expect(hashesOf(await received({ bodyHash: BODY.hash() }))).toEqual(hashesOf(all));
    expect(hashesOf(await received({ messageHashes: others, bodyHash: BODY.hash(), direction: 'in' }))).toEqual(
      hashesOf(others.flatMap(own)),
    );
    for (const [hash, wanted] of [[normal, all], ...others.map((one) => [one, own(one)] as const)] as const) {
      const asked = { messageHashes: [hash], sort: 'asc' as const, page };
      const every = { traceIds: [], txHashes: [], utime: {}, ltWindow: {} };
      const traces = await source.traces({ ...every, ...asked }, context());
      expect(traces.rows.map(({ traceId }) => hashKey(traceId)).sort()).toEqual(hashesOf(wanted));
      const told = await source.actions({ ...ANY_ACTION, ...asked }, context());
      expect([...new Set(told.rows.map(({ traceId }) => hashKey(traceId)))].sort()).toEqual(hashesOf(wanted));
    }
    // One message it is all the same: where it was received last.
    const { rows } = await source.messages(
      { ...ANY_MESSAGE, messageHashes: [others[0]], page, sort: 'asc' },
      context(),
    );
    expect(rows.map(({ inTxHash }) => inTxHash && hashKey(inTxHash))).toEqual(hashesOf(own(others[0]).slice(-1)));
  }

  it.each([0, 13])('a message that was received several times, with a window from step %i on', async (from) => {
    const { steps, windows } = served();
    await expectAll(await windows.from(steps.findIndex(({ step }) => step.mcSeqno >= from)));
  });

  it('a message that was received several times, with a window over an archive', async () => {
    const { tables, steps, clickhouse } = served();
    const { archive, fill, remove } = archiveOf({ clickhouse }, LARGE_SLAB);
    const windowed = await windowFrom({ tables, steps }, steps.length - 5, undefined, archive);
    try {
      await fill(windowed.window);
      await expectAll(windowed);
    } finally {
      await windowed.remove();
      await remove();
    }
  });

  it('a message that was received several times, by the tables alone', () => expectAll({ source: served().tables }));
}
