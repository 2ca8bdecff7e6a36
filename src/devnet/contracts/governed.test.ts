import { comment, toNano } from '@ton/core';
import { expect, test } from 'vitest';
import {
  CLOSED,
  callTo,
  governedMasterAddress,
  governedMasterCode,
  governedMasterData,
  governedWalletAddress,
  LOCKED,
  OPEN,
  readGovernedWallet,
  setStatus,
} from './governed.ts';
import { jettonBurn, jettonMint, jettonTransfer } from './jettons.ts';
import { dataOf, outcomeOf, sandboxWith } from './test-sandbox.ts';

test('the admin locks a wallet, moves and burns what is in it, and opens it again', async () => {
  const blockchain = await sandboxWith([]);
  const [admin, holder, other] = await blockchain.createWallets(3);
  const content = comment('governed');
  const master = governedMasterAddress(admin.address, content);
  const init = { code: governedMasterCode, data: governedMasterData(admin.address, content) };
  await admin.send({ to: master, value: toNano('1'), init, bounce: false });
  const order = (body: typeof content, by = admin) => by.send({ to: master, value: toNano('0.3'), bounce: true, body });
  const [own, theirs] = [holder, other].map(({ address }) => governedWalletAddress(address, master));
  const balances = async () =>
    Promise.all([own, theirs].map(async (wallet) => readGovernedWallet(await dataOf(blockchain, wallet)).balance));
  const supply = async () => (await blockchain.runGetMethod(master, 'get_jetton_data')).stackReader.readBigNumber();
  const status = async () => (await blockchain.runGetMethod(own, 'get_status')).stackReader.readNumber();
  const rest = { forwardTonAmount: 0n, responseDestination: admin.address };
  for (const to of [holder.address, other.address]) {
    await order(jettonMint({ queryId: 1n, to, amount: 1_000n, tonAmount: toNano('0.1'), ...rest }));
  }
  expect([await balances(), await supply()]).toEqual([[1_000n, 1_000n], 2_000n]);

  const payment = jettonTransfer({
    queryId: 2n,
    amount: 100n,
    destination: other.address,
    forwardPayload: null,
    ...rest,
  });
  const burn = jettonBurn({ queryId: 3n, amount: 50n, responseDestination: admin.address });
  const pay = (body: typeof content) => holder.send({ to: own, value: toNano('0.2'), bounce: true, body });
  await pay(payment);
  expect(await balances()).toEqual([900n, 1_100n]);

  const call = (body: typeof content, by = admin) => order(callTo(4n, holder.address, toNano('0.1'), body), by);
  expect((await call(setStatus(5n, LOCKED), holder)).transactions.map(outcomeOf)[1]).toMatchObject({
    aborted: true,
    exitCode: 73,
  });
  expect(await status()).toBe(OPEN);
  await call(setStatus(5n, LOCKED));
  expect(await status()).toBe(LOCKED);
  for (const body of [payment, burn]) {
    expect((await pay(body)).transactions.map(outcomeOf)[1]).toMatchObject({ aborted: true, exitCode: 45 });
  }
  await call(payment);
  await call(burn);
  expect([await balances(), await supply()]).toEqual([[750n, 1_200n], 1_950n]);
  await call(setStatus(6n, OPEN));
  await pay(payment);
  expect([await status(), await balances()]).toEqual([OPEN, [650n, 1_300n]]);

  await order(callTo(7n, other.address, toNano('0.1'), setStatus(8n, CLOSED)));
  const refused = (await pay(payment)).transactions.map(outcomeOf);
  expect(refused).toContainEqual(expect.objectContaining({ aborted: true, exitCode: 45 }));
  // They are the holder's again.
  expect(await balances()).toEqual([650n, 1_300n]);
});
