import { type Cell, comment, internal, SendMode, toNano } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV3R2, WalletContractV4, WalletContractV5R1 } from '@ton/ton';
import { describe, expect, test } from 'vitest';
import { sandboxWith, TEST_TIME } from '../contracts/test-sandbox.ts';
import { createWallet, seqnoOf, WALLET_VERSIONS, type WalletVersion } from './wallets.ts';

const receiver = createWallet('test', 'receiver', 'v4r2').address;
const usual = SendMode.PAY_GAS_SEPARATELY | SendMode.IGNORE_ERRORS;
const messages = [1, 2, 3].map((n) => ({ to: receiver, value: toNano(n), bounce: n === 2, body: comment(`${n}`) }));

function publishedOf(
  version: WalletVersion,
  publicKey: Buffer,
): WalletContractV3R2 | WalletContractV4 | WalletContractV5R1 {
  const args = { workchain: 0, publicKey };
  if (version === 'v3r2') return WalletContractV3R2.create(args);
  return version === 'v4r2' ? WalletContractV4.create(args) : WalletContractV5R1.create(args);
}

/** The body of an external message. */
function bodyOf(message: Cell): Cell {
  const slice = message.beginParse();
  slice.skip(2 + 2);
  slice.loadAddress();
  slice.loadCoins();
  expect(slice.loadBit()).toBe(false);
  return slice.loadBit() ? slice.loadRef() : slice.asCell();
}

describe.each(WALLET_VERSIONS)('%s', (version) => {
  const wallet = createWallet('test', 'sender', version);
  const { secretKey, publicKey } = keyPairFromSeed(wallet.keys.secretSeed);
  const published = publishedOf(version, publicKey);
  const order = { seqno: 7, validUntil: TEST_TIME + 60, messages };

  test('address and orders are those of @ton/ton', () => {
    expect(wallet.keys.publicKey.equals(publicKey)).toBe(true);
    expect(wallet.address.equals(published.address)).toBe(true);
    const sendMode = usual;
    const args = { seqno: 7, secretKey, sendMode, timeout: TEST_TIME + 60, messages: messages.map(internal) };
    const transfer =
      published instanceof WalletContractV5R1 ? published.createTransfer(args) : published.createTransfer(args);
    expect(bodyOf(wallet.order(order)).equals(transfer)).toBe(true);
  });

  test('the first order deploys, and the data tell the next seqno', async () => {
    const blockchain = await sandboxWith([]);
    const giver = await blockchain.treasury('giver');
    await giver.send({ to: wallet.address, value: toNano('10'), bounce: false });
    const { transactions } = await blockchain.sendMessage(wallet.order({ ...order, seqno: 0, deploy: true }));
    // The wallet, three times the receiver, and what bounces.
    expect(transactions.length).toBe(5);
    const contract = await blockchain.getContract(wallet.address);
    const state = contract.account.account?.storage.state;
    if (state?.type !== 'active' || !state.state.data) throw new Error('not deployed');
    expect(seqnoOf(version, state.state.data)).toBe(1);
    expect((await blockchain.runGetMethod(wallet.address, 'seqno')).stackReader.readNumber()).toBe(1);
  });

  test('too many messages are refused', () => {
    const many = Array.from({ length: version === 'v5r1' ? 256 : 5 }, () => messages[0]);
    expect(() => wallet.order({ ...order, messages: many })).toThrow(RangeError);
  });
});

test('keys depend on seed and name', () => {
  const keys = [
    createWallet('a', 'x', 'v4r2'),
    createWallet('a', 'y', 'v4r2'),
    createWallet('b', 'x', 'v4r2'),
    createWallet('a', 'x', 'v5r1'),
  ].map(({ keys: { publicKey } }) => publicKey.toString('hex'));
  expect(new Set(keys).size).toBe(3);
  expect(keys[0]).toBe(keys[3]);
});
