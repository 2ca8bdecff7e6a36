import { readFileSync } from 'node:fs';
import { Cell } from '@ton/core';
import { expect, test } from 'vitest';
import { interfacesOf, methodIds } from '../../chain/interfaces.ts';
import { CODES } from './codes.ts';
import { CODES_FILE, codesModule, compileContracts } from './compile.ts';

test('the committed codes are what the sources compile to', async () => {
  const codes = await compileContracts();
  expect(codes).toEqual(CODES);
  expect(readFileSync(CODES_FILE, 'utf8')).toBe(codesModule(codes));
});

test('the get-methods show what each contract is', () => {
  const marks = Object.entries(CODES).map(([name, code]) => {
    const boc = Buffer.from(code, 'base64');
    return [name, interfacesOf(Cell.fromBoc(boc)[0].hash(), methodIds(boc))];
  });
  expect(Object.fromEntries(marks)).toEqual({
    jettonMaster: ['jetton_master'],
    jettonWallet: ['jetton_wallet'],
    nftCollection: ['nft_collection'],
    nftItem: ['nft_item'],
    faults: [],
  });
});
