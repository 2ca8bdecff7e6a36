import { createHash } from 'node:crypto';
import { Address, beginCell, type Cell, comment, Dictionary, toNano } from '@ton/core';
import { type Blockchain, createShardAccount, type SandboxContract, type TreasuryContract } from '@ton/sandbox';
import { JettonMaster, JettonWallet } from '@ton/ton';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { onChainContent } from './content.ts';
import {
  JETTON_OPS,
  jettonBurn,
  jettonMasterAddress,
  jettonMasterCode,
  jettonMasterData,
  jettonMint,
  jettonTransfer,
  jettonWalletAddress,
  jettonWalletCode,
  provideWalletAddress,
  readJettonWallet,
} from './jettons.ts';
import { dataOf, type Outcome, opcodeOf, outcomeOf, sandboxWith } from './test-sandbox.ts';

const content = onChainContent({ name: 'Dust', symbol: 'DUST', description: 'x'.repeat(400), decimals: '9' });
type Person = SandboxContract<TreasuryContract>;

let blockchain: Blockchain;
let admin: Person;
let alice: Person;
let bob: Person;
let master: Address;

beforeEach(async () => {
  blockchain = await sandboxWith([]);
  admin = await blockchain.treasury('admin');
  alice = await blockchain.treasury('alice');
  bob = await blockchain.treasury('bob');
  master = jettonMasterAddress(admin.address, content);
  const data = jettonMasterData({ totalSupply: 0n, admin: admin.address, content });
  const init = { code: jettonMasterCode, data };
  await admin.send({ to: master, value: toNano('1'), init, bounce: false });
});

const walletOf = (person: Person) => jettonWalletAddress(person.address, master);

async function send(from: Person, to: Address, value: bigint, body: Cell): Promise<Outcome[]> {
  const { transactions } = await from.send({ to, value, bounce: true, body });
  return transactions.slice(1).map(outcomeOf);
}

function mint(to: Person, amount: bigint, by = admin): Promise<Outcome[]> {
  const order = { queryId: 1n, to: to.address, amount, tonAmount: toNano('0.05'), forwardTonAmount: toNano('0.01') };
  return send(by, master, toNano('0.1'), jettonMint({ ...order, responseDestination: admin.address }));
}

function transfer(from: Person, to: Address, amount: bigint, value = toNano('0.08'), forward = toNano('0.01')) {
  const body = jettonTransfer({
    queryId: 2n,
    amount,
    destination: to,
    responseDestination: from.address,
    forwardTonAmount: forward,
    forwardPayload: comment('thanks'),
  });
  return send(from, walletOf(from), value, body);
}

function burn(from: Person, amount: bigint): Promise<Outcome[]> {
  return send(from, walletOf(from), toNano('0.05'), jettonBurn({ queryId: 3n, amount, responseDestination: null }));
}

async function balance(person: Person): Promise<bigint> {
  return blockchain.openContract(JettonWallet.create(walletOf(person))).getBalance();
}

async function supply(): Promise<bigint> {
  return (await blockchain.openContract(JettonMaster.create(master)).getJettonData()).totalSupply;
}

const opcodes = (outcomes: Outcome[]) => outcomes.map(({ opcode }) => opcode);

describe('get-methods', () => {
  test('@ton/ton reads master and wallets', async () => {
    await mint(alice, 500n);
    const opened = blockchain.openContract(JettonMaster.create(master));
    const data = await opened.getJettonData();
    expect(data).toMatchObject({ totalSupply: 500n, mintable: true });
    expect(data.adminAddress.equals(admin.address)).toBe(true);
    expect(data.walletCode.equals(jettonWalletCode)).toBe(true);
    expect((await opened.getWalletAddress(alice.address)).equals(walletOf(alice))).toBe(true);
    expect(await balance(alice)).toBe(500n);
  });

  test('get_wallet_data gives balance, owner, master and code', async () => {
    await mint(alice, 7n);
    const { stackReader } = await blockchain.runGetMethod(walletOf(alice), 'get_wallet_data');
    expect(stackReader.readBigNumber()).toBe(7n);
    expect(stackReader.readAddress().equals(alice.address)).toBe(true);
    expect(stackReader.readAddress().equals(master)).toBe(true);
    expect(stackReader.readCell().equals(jettonWalletCode)).toBe(true);
  });

  test('the content is a TEP-64 dictionary by SHA-256 of the key, values as snakes', async () => {
    const data = await blockchain.openContract(JettonMaster.create(master)).getJettonData();
    const slice = data.content.beginParse();
    expect(slice.loadUint(8)).toBe(0);
    const values = slice.loadDict(Dictionary.Keys.Buffer(32), Dictionary.Values.Cell());
    const read = (key: string) => values.get(createHash('sha256').update(key).digest())?.beginParse();
    const symbol = read('symbol');
    expect(symbol?.loadUint(8)).toBe(0);
    expect(symbol?.loadStringTail()).toBe('DUST');
    expect(read('description')?.skip(8).loadStringTail()).toBe('x'.repeat(400));
  });
});

describe('messages of TEP-74', () => {
  test('a mint: internal transfer, notification, excesses', async () => {
    const outcomes = await mint(alice, 500n);
    expect(outcomes.every(({ aborted }) => !aborted)).toBe(true);
    expect(opcodes(outcomes)).toEqual([
      JETTON_OPS.mint,
      JETTON_OPS.internalTransfer,
      JETTON_OPS.transferNotification,
      JETTON_OPS.excesses,
    ]);
    expect([await balance(alice), await supply()]).toEqual([500n, 500n]);
  });

  test('a transfer deploys the wallet, notifies with the payload and gives back what is left', async () => {
    await mint(alice, 500n);
    const before = await alice.getBalance();
    const { transactions } = await alice.send({
      to: walletOf(alice),
      value: toNano('0.08'),
      body: jettonTransfer({
        queryId: 77n,
        amount: 120n,
        destination: bob.address,
        responseDestination: alice.address,
        forwardTonAmount: toNano('0.01'),
        forwardPayload: comment('thanks'),
      }),
    });
    const notification = transactions.find(
      ({ inMessage }) => inMessage && opcodeOf(inMessage) === 0x7362d09c,
    )?.inMessage;
    const body = notification?.body.beginParse().skip(32);
    expect(notification?.info).toMatchObject({ type: 'internal', value: { coins: toNano('0.01') } });
    expect([body?.loadUintBig(64), body?.loadCoins()]).toEqual([77n, 120n]);
    expect(body?.loadAddress().equals(alice.address)).toBe(true);
    expect(body?.loadMaybeRef()?.equals(comment('thanks'))).toBe(true);
    expect([await balance(alice), await balance(bob), await supply()]).toEqual([380n, 120n, 500n]);
    expect(before - (await alice.getBalance())).toBeLessThan(toNano('0.04'));
  });

  test('a burn lowers the supply', async () => {
    await mint(alice, 500n);
    expect(opcodes(await burn(alice, 200n))).toEqual([JETTON_OPS.burn, JETTON_OPS.burnNotification]);
    expect([await balance(alice), await supply()]).toEqual([300n, 300n]);
  });

  test.each<[string, () => Promise<Outcome[]>, number]>([
    ['a mint by someone else', () => mint(bob, 1n, bob), 73],
    ['a transfer of more than there is', () => transfer(alice, bob.address, 501n), 47],
    ['a burn of more than there is', () => burn(alice, 501n), 47],
    ['a transfer without the coins for it', () => transfer(alice, bob.address, 1n, toNano('0.02')), 48],
    ['a transfer to the masterchain', () => transfer(alice, new Address(-1, Buffer.alloc(32)), 1n), 333],
    ['an opcode nobody knows', () => send(alice, walletOf(alice), toNano('0.1'), comment('hi')), 0xffff],
  ])('%s is refused and bounces', async (_, act, exitCode) => {
    await mint(alice, 500n);
    const [refused, bounced] = await act();
    expect(refused).toMatchObject({ aborted: true, exitCode });
    expect(bounced.opcode).toBe(0xffffffff);
    expect([await balance(alice), await supply()]).toEqual([500n, 500n]);
  });

  test('jettons come back when the receiving wallet cannot take them', async () => {
    await mint(alice, 500n);
    await transfer(alice, bob.address, 100n);
    // A wallet that holds other data at that address refuses whatever comes.
    const broken = { address: walletOf(bob), code: jettonWalletCode, data: beginCell().endCell(), balance: 1n };
    await blockchain.setShardAccount(broken.address, createShardAccount(broken));
    const outcomes = await transfer(alice, bob.address, 50n);
    expect(opcodes(outcomes)).toEqual([JETTON_OPS.transfer, JETTON_OPS.internalTransfer, 0xffffffff]);
    expect(outcomes[1].aborted).toBe(true);
    expect(outcomes[2]).toMatchObject({ aborted: false, exitCode: 0 });
    expect(await balance(alice)).toBe(400n);
  });

  test('only a wallet of the same master may send jettons in, and only the master hears of burns', async () => {
    await mint(alice, 500n);
    const forged = beginCell().storeUint(JETTON_OPS.internalTransfer, 32).storeUint(0, 64).storeCoins(5);
    const body = forged.storeAddress(bob.address).storeAddress(null).storeCoins(0).storeBit(false).endCell();
    expect((await send(bob, walletOf(alice), toNano('0.1'), body))[0]).toMatchObject({ aborted: true, exitCode: 74 });
    const burnt = beginCell().storeUint(JETTON_OPS.burnNotification, 32).storeUint(0, 64).storeCoins(5);
    const lie = burnt.storeAddress(alice.address).storeAddress(null).endCell();
    expect((await send(bob, master, toNano('0.1'), lie))[0]).toMatchObject({ aborted: true, exitCode: 74 });
  });

  test('TEP-89: the master tells where a wallet is', async () => {
    const { transactions } = await bob.send({
      to: master,
      value: toNano('0.05'),
      body: provideWalletAddress(9n, alice.address, true),
    });
    const answer = transactions.find(({ inMessage }) => inMessage && opcodeOf(inMessage) === 0xd1735400)?.inMessage;
    const body = answer?.body.beginParse().skip(32);
    expect(body?.loadUintBig(64)).toBe(9n);
    expect(body?.loadAddress().equals(walletOf(alice))).toBe(true);
    expect(body?.loadMaybeRef()?.beginParse().loadAddress().equals(alice.address)).toBe(true);
  });

  test('gas stays under the bounds that the fees are computed from', async () => {
    await mint(alice, 500n);
    const gas = new Map<number | null, bigint>();
    for (const { opcode, gas: used } of [...(await transfer(alice, bob.address, 1n)), ...(await burn(alice, 1n))]) {
      gas.set(opcode, used);
    }
    const bounds = { transfer: 10_000n, internalTransfer: 10_000n, burn: 8_000n, burnNotification: 8_000n } as const;
    for (const op of ['transfer', 'internalTransfer', 'burn', 'burnNotification'] as const) {
      const used = gas.get(JETTON_OPS[op]) ?? 0n;
      expect(used).toBeGreaterThan(1_000n);
      expect(used).toBeLessThan(bounds[op]);
    }
  });
});

test('whatever is done, the supply is the sum of the wallets', async () => {
  const people = [alice, bob, admin];
  const person = fc.constantFrom(...people.keys());
  const deed = fc.oneof(
    fc.record({ kind: fc.constant('mint' as const), who: person, to: person, amount: fc.bigInt(0n, 1000n) }),
    fc.record({ kind: fc.constant('transfer' as const), who: person, to: person, amount: fc.bigInt(0n, 700n) }),
    fc.record({ kind: fc.constant('burn' as const), who: person, to: person, amount: fc.bigInt(0n, 300n) }),
  );
  for (const one of people) await mint(one, 1000n);
  let done = 0;
  const property = fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 6 }), async (list) => {
    for (const { kind, who, to, amount } of list) {
      const self = people[who];
      if (kind === 'mint') await mint(people[to], amount, self);
      if (kind === 'transfer') await transfer(self, people[to].address, amount, toNano('0.08'), amount % 2n);
      if (kind === 'burn') await burn(self, amount);
      done++;
    }
    const balances = await Promise.all(
      people.map(async (one) => readJettonWallet(await dataOf(blockchain, walletOf(one)))),
    );
    expect(balances.reduce((sum, wallet) => sum + wallet.balance, 0n)).toBe(await supply());
  });
  await fc.assert(property, { seed: 4, numRuns: 20 });
  expect(done).toBeGreaterThan(40);
});
