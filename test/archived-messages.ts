/** Messages that were sent below the window and received in it, over an archive that was filled in between. */
import { expect } from 'vitest';
import { messages } from '../clickhouse/tables/messages.ts';
import type { Archive } from '../src/archive/archive.ts';
import { sentMessageKind } from '../src/archive/messages.ts';
import type { ArchiveView } from '../src/archive/view.ts';
import type { Address, Hash } from '../src/chain/model.ts';
import { ANY_MESSAGE, type MessageRecord, type TransactionRecord } from '../src/chain/records.ts';
import { stepOf } from '../src/window/chunk.ts';
import { columnOf, layoutOf } from '../src/window/kind.ts';
import { transactionKind } from '../src/window/kinds.ts';
import type { View } from '../src/window/view.ts';
import { rounds } from './chance.ts';
import { context, type Projected, windowFrom } from './windowed.ts';

const BY_ACCOUNT = layoutOf(transactionKind, 'account');
const PAGE = { limit: 1_000, offset: 0 };
/** Windows that are looked at, and messages that have come in each of them. */
const BORDERS = rounds(2, 8);
const AT_ONCE = 3;

/** The archive as it would be, had it been filled when `end` was the next step: not yet received was received later. */
function asBefore(view: ArchiveView, end: number, sources: ReadonlyMap<string, Address | null>): ArchiveView {
  const find: View['find'] = (kind, layout, values) => {
    const found = view.find(kind, layout, values);
    if (found === null || kind !== sentMessageKind) return found;
    const [received, outLt] = (['received', 'outLt'] as const).map((name) =>
      columnOf(sentMessageKind, found.row, name),
    );
    const source = sources.get(columnOf(sentMessageKind, found.row, 'hash').toString('hex'));
    if (received === 0 || stepOf(found.id) < end || outLt === '0' || !source) return found;
    const sender = view.find(transactionKind, BY_ACCOUNT, [source, outLt]);
    if (sender === null) throw new Error('the archive does not have the sender of a message');
    const row = Buffer.from(found.row);
    const at = (column: string): number => sentMessageKind.offsets.get(column) ?? 0;
    row[at('received')] = 0;
    sender.id.copy(row, at('shownBy'), 4);
    return { id: sender.id, row };
  };
  const own = { find, head: end - 1 };
  return new Proxy(view, {
    get(_, name) {
      const value: unknown = Reflect.get(name in own ? own : view, name);
      return typeof value === 'function' ? value.bind(view) : value;
    },
  });
}

const shown = ({ message: { hash }, inTxHash, outTxHash }: MessageRecord) => ({ hash, inTxHash, outTxHash });
const hashesOf = (found: readonly TransactionRecord[]): Hash[] => found.map(({ transaction }) => transaction.hash);

const evenly = <T>(all: readonly T[], count: number): T[] =>
  all.filter((_, i) => i % Math.max(1, Math.ceil(all.length / count)) === 0);

/** `archive` has all steps. */
export async function expectReceivedLater(projected: Projected, archive: Archive): Promise<void> {
  const { steps, tables } = projected;
  const rows = steps.flatMap(({ step }) => step.rows.of(messages));
  const { bytes } = sentMessageKind.columns.hash;
  const sources = new Map(rows.map(({ hash, source }) => [hash.toString('hex', 0, bytes), source]));
  const crossing = rows.filter(({ outMcSeqno, inMcSeqno }) => outMcSeqno > 0 && outMcSeqno < inMcSeqno);
  const first = steps[0].step.mcSeqno;
  const borders = [...new Set(crossing.map(({ inMcSeqno }) => inMcSeqno))].filter((end) => end > first);
  let looked = 0;
  for (const end of evenly(borders, BORDERS)) {
    const at = steps.findIndex(({ step }) => step.mcSeqno === end);
    const isBelow = (step: number): boolean => step > 0 && step < end;
    const received = crossing.filter(({ outMcSeqno, inMcSeqno }) => isBelow(outMcSeqno) && inMcSeqno >= end);
    const other = rows.findLast(({ outMcSeqno, inMcSeqno }) => isBelow(outMcSeqno) && isBelow(inMcSeqno));
    if (!other) continue;
    const { source, remove } = await windowFrom(projected, at, undefined, {
      view() {
        const view = archive.view();
        return view && asBefore(view, end, sources);
      },
    });
    try {
      for (const { hash, outTxHash } of received.slice(0, AT_ONCE)) {
        looked++;
        // Together with one that the window does not have.
        const messageHashes = [hash, other.hash];
        const filter = { ...ANY_MESSAGE, messageHashes, sort: 'desc', page: PAGE } as const;
        const [told, expected] = [await source.messages(filter, context()), await tables.messages(filter, context())];
        expect(told.rows.map(shown)).toEqual(expected.rows.map(shown));
        const around = { messageHashes, sort: 'desc', page: PAGE } as const;
        expect(hashesOf(await source.transactionsByMessage(around, context()))).toEqual(
          hashesOf(await tables.transactionsByMessage(around, context())),
        );
        for (const direction of ['in', 'out', undefined] as const) {
          if (outTxHash === null) throw new Error('a message that was sent has no sender');
          expect(hashesOf(await source.adjacentTransactions(outTxHash, direction, context()))).toEqual(
            hashesOf(await tables.adjacentTransactions(outTxHash, direction, context())),
          );
        }
      }
    } finally {
      await remove();
    }
  }
  expect(looked).toBeGreaterThanOrEqual(BORDERS / 2);
}
