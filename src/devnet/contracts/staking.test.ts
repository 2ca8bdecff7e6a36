import { type Address, comment, toNano } from '@ton/core';
import { expect, test } from 'vitest';
import { jettonBurn, jettonWalletAddress, readJettonWallet } from './jettons.ts';
import {
  DEPOSIT_FEE,
  readStakingPool,
  setStakingMaster,
  stakeDeposit,
  stakingMasterAddress,
  stakingMasterCode,
  stakingMasterData,
  stakingPoolAddress,
  stakingPoolCode,
  stakingPoolData,
} from './staking.ts';
import { dataOf, outcomeOf, sandboxWith } from './test-sandbox.ts';

test('a stake is minted one for one and given back when it is burnt', async () => {
  const blockchain = await sandboxWith([]);
  const [founder, staker] = await blockchain.createWallets(2);
  const content = comment('stake');
  const pool = stakingPoolAddress(founder.address);
  const master = stakingMasterAddress(pool, content);
  const open = (to: Address, init: { code: typeof content; data: typeof content }) =>
    founder.send({ to, value: toNano('1'), init, bounce: false });
  await open(pool, { code: stakingPoolCode, data: stakingPoolData(founder.address) });
  await open(master, { code: stakingMasterCode, data: stakingMasterData(pool, content) });
  const name = { to: pool, value: toNano('0.05'), bounce: true, body: setStakingMaster(1n, master) };
  expect((await staker.send(name)).transactions.map(outcomeOf)[1]).toMatchObject({ aborted: true, exitCode: 76 });
  await founder.send(name);

  const before = await staker.getBalance();
  await staker.send({ to: pool, value: toNano('5') + DEPOSIT_FEE, bounce: true, body: stakeDeposit(2n) });
  const wallet = jettonWalletAddress(staker.address, master);
  expect(readJettonWallet(await dataOf(blockchain, wallet)).balance).toBe(toNano('5'));
  expect(readStakingPool(await dataOf(blockchain, pool)).total).toBe(toNano('5'));
  const { stackReader: told } = await blockchain.runGetMethod(master, 'get_jetton_data');
  expect([told.readBigNumber(), told.readBoolean(), told.readAddress().equals(pool)]).toEqual([
    toNano('5'),
    true,
    true,
  ]);

  const body = jettonBurn({ queryId: 3n, amount: toNano('5'), responseDestination: staker.address });
  await staker.send({ to: wallet, value: toNano('0.1'), bounce: true, body });
  expect(readStakingPool(await dataOf(blockchain, pool)).total).toBe(0n);
  expect(before - (await staker.getBalance())).toBeLessThan(toNano('0.2'));
});
