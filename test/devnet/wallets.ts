/** Published clients and the faucet on the chain of a running service. */
import { Address, beginCell, comment, external, internal, SendMode, storeMessage, toNano } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV4 } from '@ton/ton';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { liteClient } from '../lite-client.ts';
import { runToEnd, type Stack, until } from '../stack.ts';

/** The wallet that `start` tells of. */
export function demoWallet(output: string) {
  const [, address, secret] = /v4r2 +(\S+) +([0-9a-f]{64})/.exec(output) ?? [];
  const keys = keyPairFromSeed(Buffer.from(secret, 'hex'));
  const wallet = WalletContractV4.create({ workchain: 0, publicKey: keys.publicKey });
  expect(wallet.address.equals(Address.parse(address))).toBe(true);
  return { wallet, secretKey: keys.secretKey };
}

/** The fields that are looked at here, of the many. */
const message = z.object({
  hash: z.string(),
  source: z.string().nullable(),
  destination: z.string().nullable(),
  value: z.string().nullable(),
  bounce: z.boolean().nullable(),
  message_content: z.object({ decoded: z.unknown() }),
});
const transaction = z.object({
  account: z.string(),
  hash: z.string(),
  lt: z.string(),
  now: z.number(),
  trace_id: z.string(),
  orig_status: z.string(),
  end_status: z.string(),
  total_fees: z.string(),
  description: z.object({
    type: z.string(),
    aborted: z.boolean(),
    compute_ph: z.object({ success: z.boolean().optional() }),
  }),
  in_msg: message,
  out_msgs: z.array(message),
  mc_block_seqno: z.number(),
});
const transactions = z.object({ transactions: z.array(transaction) });
type Transaction = z.infer<typeof transaction>;

/** Asks until there are so many transactions. */
function find(stack: Stack, query: string, count: number): Promise<Transaction[]> {
  return until(`transactions by ${query}`, async () => {
    const response = await fetch(`${stack.url}/api/v3/${query}`);
    if (response.status !== 200) throw new Error(`${query}: ${response.status} ${await response.text()}`);
    const found = transactions.parse(await response.json()).transactions;
    return found.length >= count ? found : null;
  });
}

const rawUpper = (address: Address): string => address.toRawString().toUpperCase();

/** What a wallet and the faucet send, told by the service and the liteserver alike. */
export function describeWallets(stack: () => Stack): void {
  it('shows what a wallet sends through the liteserver, with all fields right', async () => {
    const { wallet, secretKey } = demoWallet(stack().program.output());
    const { client, close } = await liteClient(stack().dataDir);
    const receiver = new Address(0, Buffer.alloc(32, 0x5a));
    const master = await client.getMasterchainInfo();
    const seqno = (await client.runMethod(wallet.address, 'seqno', Buffer.alloc(0), master.last)).exitCode;
    expect(seqno).toBe(0);
    const body = wallet.createTransfer({
      seqno: 0,
      secretKey,
      sendMode: SendMode.PAY_GAS_SEPARATELY,
      messages: [
        internal({ to: receiver, value: toNano('1.5'), bounce: false, body: comment('to whom it may concern') }),
      ],
    });
    const sent = beginCell()
      .store(storeMessage(external({ to: wallet.address, body })))
      .endCell();
    await client.sendMessage(sent.toBoc());

    const query = `transactionsByMessage?msg_hash=${encodeURIComponent(sent.hash().toString('base64'))}`;
    const [from] = await find(stack(), query, 1);
    const seenAt = Date.now() / 1000;
    process.stdout.write(`devnet: visible ${(seenAt - from.now).toFixed(1)} s after its block's second\n`);
    expect(from).toMatchObject({
      account: rawUpper(wallet.address),
      orig_status: 'active',
      end_status: 'active',
      description: { type: 'ord', aborted: false, compute_ph: { success: true } },
      in_msg: { hash: sent.hash().toString('base64'), source: null, destination: rawUpper(wallet.address) },
      out_msgs: [
        { destination: rawUpper(receiver), source: rawUpper(wallet.address), value: '1500000000', bounce: false },
      ],
    });
    const out = from.out_msgs[0];
    const ends = await find(stack(), `transactionsByMessage?msg_hash=${encodeURIComponent(out.hash)}`, 2);
    const to = ends.find(({ account }) => account === rawUpper(receiver));
    expect(to).toMatchObject({
      trace_id: from.trace_id,
      orig_status: 'nonexist',
      end_status: 'uninit',
      in_msg: { hash: out.hash, message_content: { decoded: { comment: 'to whom it may concern' } } },
    });

    // The liteserver tells the same of both accounts.
    for (const [address, known] of [
      [wallet.address, from],
      [receiver, to],
    ] as const) {
      const { last } = await client.getMasterchainInfo();
      const { lastTx } = await client.getAccountState(address, last);
      expect(lastTx).toMatchObject({ lt: BigInt(known?.lt ?? 0) });
      expect(Buffer.from((lastTx?.hash ?? 0n).toString(16).padStart(64, '0'), 'hex').toString('base64')).toBe(
        known?.hash,
      );
    }
    close();
  });

  it('gives coins through the faucet, from the command line too', async () => {
    const receiver = new Address(0, Buffer.alloc(32, 0x5b));
    const port = new URL(stack().url).port;
    const said = await runToEnd(['faucet', receiver.toString(), '2.5', '--port', port]);
    expect(said).toContain('sent 2.5 TON');
    const [gift] = await find(stack(), `transactions?account=${rawUpper(receiver)}`, 1);
    expect(gift.in_msg).toMatchObject({ value: '2500000000', destination: rawUpper(receiver) });
  });
}
