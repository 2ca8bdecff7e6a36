import { comment, toNano } from '@ton/core';
import { expect, test } from 'vitest';
import { jettonTransfer } from './jettons.ts';
import {
  airdropOf,
  claimOf,
  mintlessMasterAddress,
  mintlessMasterCode,
  mintlessMasterData,
  mintlessWalletAddress,
  mintlessWalletInit,
  readMintlessWallet,
  rootOf,
} from './mintless.ts';
import { dataOf, outcomeOf, sandboxWith } from './test-sandbox.ts';

test('who is listed claims once, with a transfer and the proof of his own item', async () => {
  const blockchain = await sandboxWith([]);
  const [founder, other, stranger] = await blockchain.createWallets(3);
  const content = comment('mintless');
  const airdrop = airdropOf([
    [founder.address, 1_000n],
    [other.address, 500n],
  ]);
  const master = mintlessMasterAddress(founder.address, content, airdrop);
  const init = { code: mintlessMasterCode, data: mintlessMasterData(founder.address, content, airdrop) };
  await founder.send({ to: master, value: toNano('1'), init, bounce: false });
  const ask = async (name: string, at = master) => (await blockchain.runGetMethod(at, name)).stackReader;
  expect((await ask('get_jetton_data')).readBigNumber()).toBe(1_500n);
  expect((await ask('get_mintless_airdrop_hashmap_root')).readBigNumber()).toBe(rootOf(airdrop));

  const walletOf = ({ address }: typeof founder) => mintlessWalletAddress(address, master, airdrop);
  const pay = (by: typeof founder, to: typeof founder, amount: bigint, proven?: typeof founder) => {
    const body = jettonTransfer({
      queryId: 1n,
      amount,
      destination: to.address,
      responseDestination: by.address,
      forwardTonAmount: 0n,
      forwardPayload: null,
      ...(proven ? { customPayload: claimOf(airdrop, proven.address) } : {}),
    });
    const first = mintlessWalletInit(by.address, master, airdrop);
    return by.send({ to: walletOf(by), value: toNano('0.2'), bounce: true, body, init: first });
  };
  const held = async (one: typeof founder) => readMintlessWallet(await dataOf(blockchain, walletOf(one)));
  const refusal = async (sent: ReturnType<typeof pay>) => (await sent).transactions.map(outcomeOf)[1];

  expect(await refusal(pay(founder, other, 100n))).toMatchObject({ aborted: true, exitCode: 47 });
  await pay(founder, stranger, 100n, founder);
  expect([await held(founder), await held(stranger)]).toEqual([
    { balance: 900n, isClaimed: true },
    { balance: 100n, isClaimed: false },
  ]);
  expect((await ask('is_claimed', walletOf(founder))).readBoolean()).toBe(true);
  expect(await refusal(pay(founder, other, 100n, founder))).toMatchObject({ aborted: true, exitCode: 55 });
  // With the proof of another's item there is none of his own.
  expect(await refusal(pay(stranger, other, 50n, other))).toMatchObject({ aborted: true });
  await pay(other, founder, 200n, other);
  expect([await held(founder), await held(other)]).toEqual([
    { balance: 1_100n, isClaimed: true },
    { balance: 300n, isClaimed: true },
  ]);
});
