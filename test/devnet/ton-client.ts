/** TonClient of `@ton/ton`, the strictest of the clients: every call of it, in the life of a wallet of its own. */
import {
  Address,
  beginCell,
  external,
  internal,
  type MessageRelaxed,
  SendMode,
  storeMessage,
  storeTransaction,
  type Transaction,
  toNano,
} from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { JettonMaster, JettonWallet, TonClient, WalletContractV4 } from '@ton/ton';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { type Stack, until } from '../stack.ts';
import { AMOUNT, demoWallet, dustOf, ECHO, give, jettonPayment, lower, newWallet } from './clients.ts';

const TO = new Address(0, Buffer.alloc(32, 0x5d));
const NOBODY = new Address(0, Buffer.alloc(32, 0x67));
const GIFT = toNano('5');

const block = z.object({ workchain: z.int(), shard: z.string(), seqno: z.int() });
const listed = z.object({
  transactions: z.array(
    z.object({
      hash: z.string(),
      lt: z.string(),
      block_ref: block,
      mc_block_seqno: z.int(),
      in_msg: z.object({ hash: z.string() }),
      out_msgs: z.array(z.object({ hash: z.string(), destination: z.string(), created_lt: z.string() })),
    }),
  ),
});

/** As v3 has them, the newest first. */
async function transactionsOf({ url }: Stack, query: string) {
  const response = await fetch(`${url}/api/v3/transactions?${query}&sort=desc`);
  return listed.parse(await response.json()).transactions;
}

const hashOf = (transaction: Transaction): string =>
  beginCell().store(storeTransaction(transaction)).endCell().hash().toString('base64');

function open(client: TonClient, seed: Buffer) {
  const { publicKey, secretKey } = keyPairFromSeed(seed);
  const contract = client.open(WalletContractV4.create({ workchain: 0, publicKey }));
  const order = (seqno: number, message: MessageRelaxed) => ({
    seqno,
    secretKey,
    sendMode: SendMode.PAY_GAS_SEPARATELY,
    messages: [message],
  });
  return { contract, order };
}

/** @param stack of a devnet that runs, with the contract that answers what it is asked with */
export function describeTonClient(stack: () => Stack): void {
  it('TonClient', async () => {
    const { program } = stack();
    const [, endpoint] = await program.printed(/for TonClient and the like (http\S+)/);
    const client = new TonClient({ endpoint });
    const own = open(client, newWallet('TonClient', 'v4r2').seed);
    const { address } = own.contract;
    const payment = (comment: string) => internal({ to: TO, value: toNano('0.5'), bounce: false, body: comment });

    // Nobody, and a wallet that is not there yet.
    expect(await client.getBalance(NOBODY)).toBe(0n);
    expect(await client.getContractState(NOBODY)).toMatchObject({ state: 'uninitialized', lastTransaction: null });
    expect(await client.getTransactions(NOBODY, { limit: 10 })).toEqual([]);
    await give(stack(), address);
    await until('the gift arrives', async () => ((await client.getBalance(address)) > 0n ? true : null));
    expect(await client.getBalance(address)).toBe(GIFT);
    expect(await client.isContractDeployed(address)).toBe(false);
    expect(await own.contract.getSeqno()).toBe(0);

    // It is deployed by what it sends, by each way of sending.
    await own.contract.sendTransfer(own.order(0, payment('first')));
    await until('the wallet is there', async () => ((await client.isContractDeployed(address)) ? true : null));
    expect(await own.contract.getSeqno()).toBe(1);
    const body = own.contract.createTransfer(own.order(1, payment('second')));
    const fees = { initCode: null, initData: null, ignoreSignature: false };
    const { source_fees } = await client.estimateExternalMessageFee(address, { body, ...fees });
    expect(source_fees.gas_fee).toBeGreaterThan(0);
    const sent = external({ to: address, body });
    await client.sendFile(beginCell().store(storeMessage(sent)).endCell().toBoc());
    const passed = (seqno: number) => async () => ((await own.contract.getSeqno()) >= seqno ? true : null);
    await until('the second is there', passed(2));
    const third = own.contract.createTransfer(own.order(2, payment('third')));
    await client.sendMessage(external({ to: address, body: third }));
    await until('the third is there', passed(3));
    // What was done already is refused.
    await expect(client.sendMessage(external({ to: address, body: third }))).rejects.toMatchObject({
      response: { status: 500, data: { error: expect.stringContaining('cannot apply external message') } },
    });

    // Jettons by the classes of the same package.
    const { address: masterAddress, admin_address } = await dustOf(stack());
    const master = client.open(JettonMaster.create(Address.parse(masterAddress)));
    const data = await master.getJettonData();
    expect([data.mintable, lower(data.adminAddress)]).toEqual([true, lower(admin_address)]);
    const giver = open(client, demoWallet(program.output(), 'v4r2').seed);
    const [from, to] = [await master.getWalletAddress(giver.contract.address), await master.getWalletAddress(address)];
    const held = client.open(JettonWallet.create(to));
    expect(await held.getBalance()).toBe(0n);
    const paid = jettonPayment(from, address, giver.contract.address);
    await giver.contract.sendTransfer(giver.order(await giver.contract.getSeqno(), paid));
    await until('the jettons arrive', async () => ((await held.getBalance()) > 0n ? true : null));
    expect(await held.getBalance()).toBe(AMOUNT);

    // Every type that it can put on a stack.
    const cell = beginCell().storeUint(7, 9).endCell();
    const { stack: echoed, gas_used } = await client.runMethod(ECHO, 'any', [
      { type: 'int', value: -(2n ** 256n) },
      { type: 'cell', cell },
      { type: 'slice', cell },
    ]);
    expect([echoed.readBigNumber(), gas_used > 0]).toEqual([-(2n ** 256n), true]);
    expect([echoed.readCell().equals(cell), echoed.readCell().equals(cell)]).toEqual([true, true]);
    // A builder is no argument of v2, though this client has a spelling of it.
    await expect(client.runMethod(ECHO, 'any', [{ type: 'builder', cell }])).rejects.toMatchObject({
      response: { status: 542 },
    });
    expect(await client.runMethodWithError(NOBODY, 'seqno')).toMatchObject({ exit_code: -13 });

    // History, held to what v3 tells.
    const known = await until('v3 has it all', async () => {
      const found = await transactionsOf(stack(), `account=${lower(address)}&limit=100`);
      return found.length >= 4 ? found : null;
    });
    const seen: Transaction[] = [];
    const { lastTransaction, blockId } = await client.getContractState(address);
    expect(blockId.workchain).toBe(-1);
    for (let at = lastTransaction; at !== null; ) {
      const more = await client.getTransactions(address, { limit: 2, ...at, inclusive: seen.length === 0 });
      const last = more.at(-1);
      seen.push(...more);
      at = last === undefined ? null : { lt: last.lt.toString(), hash: hashOf(last) };
    }
    expect(seen.map(hashOf)).toEqual(known.map(({ hash }) => hash));
    const [newest] = known;
    expect(hashOf((await client.getTransaction(address, newest.lt, newest.hash)) as Transaction)).toBe(newest.hash);
    expect(await client.getTransaction(address, newest.lt, known[1].hash).catch(() => 'refused')).toBe('refused');

    // Blocks of its transactions, and both ends of a message.
    const { latestSeqno, workchain } = await client.getMasterchainInfo();
    expect(workchain).toBe(-1);
    const paying = known.find(({ out_msgs }) => out_msgs.some(({ destination }) => lower(destination) === lower(TO)));
    if (paying === undefined) throw new Error('no payment is in the history');
    expect(latestSeqno).toBeGreaterThanOrEqual(paying.mc_block_seqno);
    expect((await client.getWorkchainShards(paying.mc_block_seqno)).length).toBeGreaterThan(0);
    const { workchain: chain, seqno, shard } = paying.block_ref;
    const signed = BigInt.asIntN(64, BigInt(`0x${shard}`)).toString();
    const inBlock = await client.getShardTransactions(chain, seqno, signed);
    expect(inBlock.map(({ account, hash }) => [lower(account), hash])).toContainEqual([lower(address), paying.hash]);
    const [{ created_lt, hash }] = paying.out_msgs;
    const [received] = (await transactionsOf(stack(), `account=${lower(TO)}&limit=100`)).filter(
      ({ in_msg }) => in_msg.hash === hash,
    );
    expect(hashOf(await client.tryLocateResultTx(address, TO, created_lt))).toBe(received.hash);
    expect(hashOf(await client.tryLocateSourceTx(address, TO, created_lt))).toBe(paying.hash);
    const state = await client.provider(address).getState();
    expect([state.state.type, state.last?.lt]).toEqual(['active', BigInt(newest.lt)]);
  });
}
