import { beginCell, Dictionary } from '@ton/core';
import { expect, it } from 'vitest';
import { hashOfExtra } from './currency.ts';

it.each([[{}], [{ 7: '1' }], [{ 0: '5', 100: '12345', 4294967295: '1' }], [{ 3: String(2n ** 248n - 1n), 2: '256' }]])(
  'the dictionary of the extra currencies %j has the hash that a published library gives it',
  (extra: Record<number, string>) => {
    const dictionary = Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.BigVarUint(5));
    for (const [id, amount] of Object.entries(extra)) dictionary.set(Number(id), BigInt(amount));
    const slice = beginCell().storeDict(dictionary).endCell().beginParse();
    expect(hashOfExtra(extra)).toEqual(slice.loadBit() ? slice.loadRef().hash() : null);
  },
);
