import { readFileSync } from 'node:fs';
import { Cell } from '@ton/core';
import { expect, test } from 'vitest';
import { isLong } from '../../../test/chance.ts';
import { interfacesOf, methodIds } from '../../chain/interfaces.ts';
import { CODES, SOURCES_DIGEST } from './codes.ts';
import { CODES_FILE, codesModule, compileContracts, sourcesDigest } from './compile.ts';

test('the committed codes are of these sources', () => {
  expect(SOURCES_DIGEST).toBe(sourcesDigest());
});

/** Compiling them all takes many seconds: in the long suite. */
if (isLong) {
  test('the committed codes are what the sources compile to', compiled, 120_000);
}

async function compiled(): Promise<void> {
  const codes = await compileContracts();
  expect(codes).toEqual(CODES);
  expect(readFileSync(CODES_FILE, 'utf8')).toBe(codesModule(codes));
}

test('the get-methods show what each contract is', () => {
  const marks = Object.entries(CODES).map(([name, code]) => {
    const boc = Buffer.from(code, 'base64');
    return [name, interfacesOf(Cell.fromBoc(boc)[0].hash(), methodIds(boc))];
  });
  expect(Object.fromEntries(marks)).toEqual({
    jettonMaster: ['jetton_master'],
    jettonWallet: ['jetton_wallet'],
    mintlessMaster: ['jetton_master'],
    mintlessWallet: ['jetton_wallet'],
    governedMaster: ['jetton_master'],
    governedWallet: ['jetton_wallet'],
    nftCollection: ['nft_collection'],
    nftItem: ['nft_item'],
    faults: [],
    marketplace: [],
    nftSale: ['nft_sale_getgems_v4'],
    nftAuction: ['nft_auction_v1', 'nft_sale'],
    multisig: ['multisig_v2'],
    multisigOrder: ['multisig_order_v2'],
    // It answers as wallets do.
    vesting: [
      'wallet_highload_v2',
      'wallet_v1r2',
      'wallet_v1r3',
      'wallet_v2r1',
      'wallet_v2r2',
      'wallet_v3r1',
      'wallet_v3r2',
      'wallet_v5_beta',
      'wallet_vesting',
    ],
    subscription: ['subscription_v1'],
    dnsRoot: ['dns'],
    domainCollection: ['dns', 'nft_collection'],
    domainItem: ['dns', 'editable', 'nft_item'],
    stakingPool: [],
    stakingMaster: ['jetton_master'],
    exchangeRouter: [],
    exchangePool: [],
  });
});
