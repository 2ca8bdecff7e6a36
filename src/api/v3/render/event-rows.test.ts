import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { blockFile } from '../../../../test/recorded-blocks.ts';
import { shelf } from '../../../../test/shelf.ts';
import { storedRecords } from '../../../../test/stored-records.ts';
import type { TokenEvent } from '../../../chain/contract-records.ts';
import { jettonTransfer } from '../../../chain/layouts/jettons.ts';
import { createBook } from './book.ts';
import { createEventRows, type EventRows } from './event-rows.ts';

const ROOM = 64 * 1024 * 1024;
const BLOCKS = ['0_c000000000000000_13516764', '0_8000000000000000_30816553', '0_8000000000000000_71398501'];

function shown(rows: EventRows, event: TokenEvent) {
  const book = createBook(false);
  const json = rows.row('jetton_transfers', event, book);
  return {
    json,
    addresses: book.addresses().map((address) => address.toString('hex')),
    placed: [...book.placeholders],
  };
}

describe.skipIf(shelf === null)('rows of recorded transfers', () => {
  const transfers =
    shelf === null
      ? []
      : BLOCKS.flatMap((name) => storedRecords(readFileSync(blockFile(name)))).filter(
          (make) => make().transaction.inMsg?.opcode === jettonTransfer.opcode,
        );
  const eventOf = (index: number): TokenEvent => ({ transaction: transfers[index](), token: null });

  it('are the same text and addresses whether kept, made, or not kept at all', () => {
    expect(transfers.length).toBeGreaterThan(5);
    const rows = createEventRows(ROOM);
    const nothing = createEventRows(0);
    for (const index of transfers.keys()) {
      const expected = shown(nothing, eventOf(index));
      expect(JSON.parse(expected.json)).toMatchObject({ jetton_master: 'addr_none' });
      expect(expected.placed).toEqual(['addr_none']);
      for (let time = 0; time < 2; time++) expect(shown(rows, eventOf(index))).toEqual(expected);
    }
    expect(rows.bytes).toBeGreaterThan(0);
    expect(nothing.bytes).toBe(0);
  });

  it('do not open a message that is kept', () => {
    const rows = createEventRows(ROOM);
    const expected = shown(rows, eventOf(0));
    const { transaction: record, token } = eventOf(0);
    const transaction = new Proxy(record.transaction, {
      get: (target, name) => {
        if (name !== 'hash') throw new Error(`${String(name)} was read`);
        return target.hash;
      },
    });
    expect(shown(rows, { transaction: { ...record, transaction }, token })).toEqual(expected);
  });

  it('are made anew for another token, trace or list', () => {
    const rows = createEventRows(ROOM);
    const event = eventOf(0);
    const first = shown(rows, event);
    const token = event.transaction.transaction.account;
    expect(shown(rows, { ...event, token }).json).not.toBe(first.json);
    expect(shown(rows, { ...event, transaction: { ...event.transaction, traceId: null } }).json).not.toBe(first.json);
    expect(() => rows.row('jetton_burns', event, createBook(false))).toThrow('jetton_burn');
    expect(shown(rows, event)).toEqual(first);
  });

  it('have a limit', () => {
    const [one] = transfers.keys();
    const all = createEventRows(ROOM);
    for (const index of transfers.keys()) shown(all, eventOf(index));
    const few = createEventRows(all.bytes / 2);
    for (const index of transfers.keys()) shown(few, eventOf(index));
    expect(few.bytes).toBeLessThanOrEqual(all.bytes / 2);
    // Larger than its share of the room.
    const tiny = createEventRows(1_000);
    shown(tiny, eventOf(one));
    expect(tiny.bytes).toBe(0);
  });
});
