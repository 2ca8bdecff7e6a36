import { Address, beginCell, type Cell, comment } from '@ton/core';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { recordedBodies } from '../../../test/recorded-bodies.ts';
import { addressOf } from '../address.ts';
import { Builder } from '../builder.ts';
import type { Decimal, Address as RawAddress } from '../model.ts';
import { CellView } from './cell-view.ts';
import { commentOf, textComment } from './common.ts';
import { decodeBody } from './decode.ts';
import { jettonTransfer, takeWalletAddress } from './jettons.ts';
import { opcodeName, readBody } from './registry.ts';
import type { Payload } from './shapes.ts';

function decoded(boc: Buffer | string): unknown {
  const result = decodeBody(CellView.parse(typeof boc === 'string' ? Buffer.from(boc, 'base64') : boc));
  return 'json' in result ? JSON.parse(result.json) : result.unknown;
}

const owner = Address.parse('0:4e3664faee814fbdb6c1cb36d72bac52d15e186c11ecd664fe1b3f1a7cfd801d');
const rawOwner = addressOf(0, owner.hash);

const transfer = beginCell()
  .storeUint(0x0f8a7ea5, 32)
  .storeUint(2n ** 64n - 1n, 64)
  .storeCoins(10n ** 30n)
  .storeAddress(owner)
  .storeAddress(null)
  .storeMaybeRef(beginCell().storeUint(5, 7).endCell())
  .storeCoins(1)
  .storeBit(1)
  .storeRef(comment('Привет'))
  .endCell();

describe('plain comments', () => {
  const long = 'Привет, мир! 🙂 '.repeat(40);
  const read = (cell: Cell): string | null => commentOf(CellView.parse(cell.toBoc()));

  it.each(['', 'x', 'a "quoted"\nline', long])('are what @ton/core wrote: %j', (text) => {
    expect(read(comment(text))).toBe(text);
  });

  it('may begin in a reference', () => {
    const [text, other] = [beginCell().storeStringTail('x').endCell(), beginCell().endCell()];
    expect(read(beginCell().storeUint(0, 32).storeRef(text).storeRef(other).endCell())).toBe('x');
  });

  it.each([
    ['another opcode', beginCell().storeUint(1, 32).storeStringTail('x').endCell()],
    ['no opcode', beginCell().storeUint(0, 31).endCell()],
    ['bytes that are not UTF-8', beginCell().storeUint(0, 32).storeUint(0xff, 8).endCell()],
  ])('are none for %s', (_what, body) => {
    expect(read(body)).toBeNull();
  });
});

describe('bodies', () => {
  it.each(recordedBodies)('prints $name as the reference API did', ({ body, decoded: expected }) => {
    expect(decoded(body)).toEqual(expected);
  });

  it('reads what @ton/core wrote, typed by the declaration', () => {
    const view = CellView.parse(transfer.toBoc());
    const read = jettonTransfer.in(view);
    expectTypeOf(read!.amount).toEqualTypeOf<Decimal>();
    expectTypeOf(read!.destination).toEqualTypeOf<RawAddress | null>();
    expectTypeOf(read!.forward_payload).toEqualTypeOf<Payload>();
    expect(read).toMatchObject({
      query_id: '18446744073709551615',
      amount: (10n ** 30n).toString(),
      destination: rawOwner,
      response_destination: null,
      forward_ton_amount: '1',
    });
    expect(read?.custom_payload?.hash()).toEqual(beginCell().storeUint(5, 7).endCell().hash());
    expect(read?.forward_payload.inReference).toBe(true);
    expect(textComment.in(read!.forward_payload.cell)).toEqual({ text: 'Привет' });
    expect(readBody(view)?.layout).toBe(jettonTransfer);
  });

  it('writes what @ton/core wrote', () => {
    const read = jettonTransfer.in(CellView.parse(transfer.toBoc()))!;
    const builder = new Builder();
    jettonTransfer.write(builder, read);
    expect(builder.cell().hash()).toEqual(transfer.hash());
  });

  it('decodes payloads in payloads, and leaves those in base64 that no layout fits', () => {
    expect(decoded(transfer.toBoc())).toMatchObject({
      custom_payload: { '@type': 'something_from_maybe', value: expect.stringMatching(/^te6c/) },
      forward_payload: { '@type': 'second_from_either', value: { '@type': 'text_comment', text: 'Привет' } },
    });
  });

  it('tells another opcode from a body that is too short, whose place it names', () => {
    const short = beginCell().storeUint(0x0f8a7ea5, 32).storeUint(1, 64).storeUint(15, 4).endCell();
    const view = CellView.parse(short.toBoc());
    expect(takeWalletAddress.in(view)).toBeNull();
    expect(() => jettonTransfer.in(view)).toThrow('jetton_transfer/amount: cell is too short');
    expect(readBody(view)).toBeNull();
    expect(decoded(short.toBoc())).toMatch(/^unknown/);
    expect(opcodeName(0x0f8a7ea5)).toBe('jetton_transfer');
  });

  it('says why a body is unknown', () => {
    expect(decoded(beginCell().storeUint(1, 8).endCell().toBoc())).toBe('unknown: boc is too small, size 8');
    expect(decoded(beginCell().storeUint(0x12345678, 32).endCell().toBoc())).toMatch(/^unknown: /);
  });
});
