/** Rows of transfers and burns whose messages name no account. */
import { beginCell, ExternalAddress, type Address as TonAddress } from '@ton/core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { addressOf, rawAddress } from '../../../chain/address.ts';
import type { TokenEvent } from '../../../chain/contract-records.ts';
import { createBook } from './book.ts';
import { createEventRows, type EventKind } from './event-rows.ts';

const [OWNER, HOLDER, TOKEN] = [1, 2, 3].map((n) => addressOf(0, Buffer.alloc(32, n)));
const outside = new ExternalAddress(0x1234n, 16);

type Body = ReturnType<typeof beginCell>;

function eventOf(body: Body): TokenEvent {
  const inMsg = { source: OWNER, bodyBoc: () => body.endCell().toBoc() };
  const transaction = { account: HOLDER, hash: Buffer.alloc(32, 4), lt: '5', now: 6, description: {}, inMsg };
  return { transaction: { transaction, traceId: null }, token: TOKEN } as unknown as TokenEvent;
}

/** What is printed of an event, and the keys of the address book beside it: made, and as it was kept. */
function shown(kind: EventKind, body: Body) {
  const rows = createEventRows(1 << 20);
  const event = eventOf(body);
  const [made, kept] = [0, 1].map(() => {
    const book = createBook(false);
    const row = JSON.parse(rows.row(kind, event, book));
    return { row, book: z.record(z.string(), z.unknown()).parse(JSON.parse(book.json([]))) };
  });
  expect(kept).toEqual(made);
  return made;
}

const begun = (opcode: number): Body => beginCell().storeUint(opcode, 32).storeUint(7, 64);
const place = { user_friendly: 'addr_none', domain: null, interfaces: [] };

it('a transfer of jettons tells an address outside from none', () => {
  const transfer = (response: TonAddress | ExternalAddress | null) =>
    begun(0x0f8a7ea5)
      .storeCoins(8n)
      .storeAddress(outside)
      .storeAddress(response)
      .storeBit(0)
      .storeCoins(0n)
      .storeBit(0);
  const { row, book } = shown('jetton_transfers', transfer(null));
  expect(row).toMatchObject({
    source: rawAddress(OWNER),
    destination: 'addr_extern',
    response_destination: 'addr_none',
    jetton_master: rawAddress(TOKEN),
  });
  expect(book).toEqual({ addr_none: place, addr_extern: place });
  expect(shown('jetton_transfers', transfer(outside)).book).toEqual({ addr_extern: place });
});

it('so do a burn and a transfer of an item', () => {
  const burn = shown('jetton_burns', begun(0x595f07bc).storeCoins(8n).storeAddress(outside).storeBit(0));
  expect(burn.row).toMatchObject({ owner: rawAddress(OWNER), response_destination: 'addr_extern' });
  expect(burn.book).toEqual({ addr_extern: place });
  const moved = begun(0x5fcc3d14).storeAddress(null).storeAddress(outside).storeBit(0).storeCoins(0n).storeBit(0);
  const { row, book } = shown('nft_transfers', moved);
  expect(row).toMatchObject({ new_owner: 'addr_none', response_destination: 'addr_extern' });
  expect(book).toEqual({ addr_none: place, addr_extern: place });
});
