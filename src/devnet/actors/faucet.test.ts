import { Address, toNano } from '@ton/core';
import { expect, test } from 'vitest';
import { createCast } from './cast.ts';
import { createFaucet, type Faucet, type FaucetLimits } from './faucet.ts';
import { initialAccounts } from './initial-accounts.ts';
import { createSender } from './sender.ts';
import { sandboxLedger, type TestLedger } from './test-ledger.ts';

const cast = createCast({ seed: 'faucet test', traders: 2 });
const someone = (n: number) => new Address(0, Buffer.alloc(32, n));

async function open(limits?: FaucetLimits, balance?: bigint): Promise<{ ledger: TestLedger; faucet: Faucet }> {
  const accounts = initialAccounts(cast).map((account) =>
    balance !== undefined && account.address.equals(cast.faucet.address) ? { ...account, balance } : account,
  );
  const ledger = await sandboxLedger(accounts);
  const sender = createSender(cast.faucet, ledger, { executed: () => {}, expired: () => {} });
  const faucet = createFaucet({ sender, ledger, now: () => ledger.now, ...(limits ? { limits } : {}) });
  return { ledger, faucet };
}

const balanceOf = async (ledger: TestLedger, address: Address) => (await ledger.account(address))?.balance ?? 0n;

test('coins arrive in full and the hash is that of the external message', async () => {
  const { ledger, faucet } = await open();
  const { messageHash } = await faucet.give(someone(1), toNano('5'));
  expect(await balanceOf(ledger, someone(1))).toBe(toNano('5'));
  const external = ledger.transactions.find(({ inMessage }) => inMessage?.info.type === 'external-in');
  expect(external?.raw.refs[0].refs[0].hash().equals(messageHash)).toBe(true);
});

test('gifts that come while a message is under way go together', async () => {
  const { ledger, faucet } = await open();
  const before = await ledger.account(cast.faucet.address);
  const first = faucet.give(someone(1), toNano(1));
  await first;
  // The chain has not shown the first message yet.
  const { account } = ledger;
  ledger.account = (address) => (address.equals(cast.faucet.address) ? before : account(address));
  const gifts = [first, ...[2, 3, 4].map((n) => faucet.give(someone(n), toNano(n)))];
  await faucet.step(ledger.tick());
  expect(await balanceOf(ledger, someone(2))).toBe(0n);
  ledger.account = account;
  await faucet.step(ledger.tick());
  const hashes = (await Promise.all(gifts)).map(({ messageHash }) => messageHash.toString('hex'));
  expect(new Set(hashes).size).toBe(2);
  for (const n of [1, 2, 3, 4]) expect(await balanceOf(ledger, someone(n))).toBe(toNano(n));
});

test('limits: amount, gifts a minute, gifts that wait', async () => {
  const { ledger, faucet } = await open({ most: toNano('10'), giftsPerMinute: 2, queue: 3 });
  await expect(faucet.give(someone(1), 0n)).rejects.toMatchObject({ code: 'amount' });
  await expect(faucet.give(someone(1), toNano('10') + 1n)).rejects.toMatchObject({ code: 'amount' });
  await faucet.give(someone(1), toNano('10'));
  await faucet.give(someone(1), 1n);
  await expect(faucet.give(someone(1), 1n)).rejects.toMatchObject({ code: 'rate' });
  await faucet.give(someone(2), 1n);
  await faucet.step(ledger.tick(61_000));
  await faucet.give(someone(1), 1n);
  const seqno = (await ledger.blockchain.runGetMethod(cast.faucet.address, 'seqno')).stackReader.readNumber();
  expect(seqno).toBe(4);
  const many = [3, 4, 5, 6, 7].map((n) => faucet.give(someone(n), 1n));
  const settled = await Promise.allSettled(many);
  expect(settled.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  expect(settled[4]).toMatchObject({ status: 'rejected', reason: { code: 'full' } });
});

test('an empty faucet says so', async () => {
  const { faucet } = await open(undefined, toNano('4'));
  await expect(faucet.give(someone(1), toNano('4'))).rejects.toMatchObject({ code: 'empty' });
  await faucet.give(someone(1), toNano('2'));
});

test('a chain that refuses three times, and a closed faucet, are unavailable', async () => {
  const { ledger, faucet } = await open();
  let asked = 0;
  ledger.submit = () => {
    asked++;
    return { accepted: false, reason: 'no room' };
  };
  const gift = faucet.give(someone(1), 1n);
  const refused = expect(gift).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('no room'),
  });
  await faucet.step(ledger.tick());
  await faucet.step(ledger.tick());
  await faucet.step(ledger.tick());
  await refused;
  expect(asked).toBe(3);
  faucet.close();
  await expect(faucet.give(someone(1), 1n)).rejects.toMatchObject({ code: 'unavailable' });
});
