/** A new user's first minutes: the service as it starts, and a published client that knows nothing but its URL. */
import { Address, internal, toNano } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { TonClient, WalletContractV4 } from '@ton/ton';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Stack, startStack, until } from './stack.ts';

let stack: Stack;
let client: TonClient;

beforeAll(async () => {
  stack = await startStack({ network: 'devnet', flags: ['--devnet-rate', '0', '--block-time', '400ms'] });
  client = new TonClient({ endpoint: `${stack.url}/api/v2/jsonRPC`, timeout: 60_000 });
});
afterAll(() => stack.remove());

it('a wallet is given coins, deployed by its first transfer, and its history read to the first transaction', async () => {
  await until('the first step', async () => ((await fetch(`${stack.url}/api/v2/getMasterchainInfo`)).ok ? true : null));
  const { publicKey, secretKey } = keyPairFromSeed(Buffer.alloc(32, 3));
  const wallet = client.open(WalletContractV4.create({ workchain: 0, publicKey }));
  const to = new Address(0, Buffer.alloc(32, 9));
  const body = JSON.stringify({ address: wallet.address.toString(), amount: '5' });
  expect((await fetch(`${stack.url}/devnet/faucet`, { method: 'POST', body })).status).toBe(200);
  await until('the gift arrives', async () => ((await client.getBalance(wallet.address)) > 0n ? true : null));
  expect(await client.isContractDeployed(wallet.address)).toBe(false);
  for (const seqno of [0, 1]) {
    const messages = [internal({ to, value: toNano('1'), bounce: false, body: `number ${seqno}` })];
    await wallet.sendTransfer({ seqno, secretKey, messages });
    await until('the wallet has sent', async () => ((await wallet.getSeqno()) === seqno + 1 ? true : null));
  }
  await until('both arrive', async () => ((await client.getBalance(to)) > toNano('1.9') ? true : null));
  expect(await client.isContractDeployed(wallet.address)).toBe(true);

  const seen: string[] = [];
  let from: { lt: string; hash: string } | undefined;
  for (;;) {
    const page = await client.getTransactions(wallet.address, { limit: 2, ...from });
    seen.push(...page.map(({ lt }) => lt.toString()));
    const last = page.at(-1);
    if (last === undefined || last.prevTransactionLt === 0n) break;
    from = { lt: last.lt.toString(), hash: last.hash().toString('base64') };
  }
  expect(seen).toHaveLength(3);
  expect(new Set(seen).size).toBe(3);

  const spent = await wallet.sendTransfer({ seqno: 0, secretKey, messages: [] }).catch((error) => error.response.data);
  expect(spent).toMatchObject({ ok: false, code: 500, error: expect.stringMatching(/^LITE_SERVER_/) });
  const metrics = await (await fetch(`${stack.url}/metrics`)).text();
  // Those that the devnet told of first are known by then.
  const noted = [...metrics.matchAll(/^tonstream_sent_messages_total\{log="(?:noted|known)"\} (\d+)$/gm)];
  expect(noted.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(2);
  expect(await (await fetch(`${stack.url}/healthcheck`)).text()).toBe('OK');
});
