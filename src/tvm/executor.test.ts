import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beginCell, serializeTuple, type TupleItem } from '@ton/core';
import { WalletContractV4 } from '@ton/ton';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { Slice } from '../chain/builder.ts';
import { createGenesis } from '../devnet/genesis.ts';
import { cellText, createExecutor, textCell } from './executor.ts';

const replay = z.object({
  config_boc: z.string(),
  libs_boc: z.string().nullish(),
  block: z.object({ rand_seed: z.string() }),
  accounts: z.array(
    z.object({
      shard_account_boc: z.string(),
      transactions: z.array(z.object({ lt: z.string(), now: z.number(), hash: z.string(), boc: z.string() })),
    }),
  ),
});

test.skipIf(shelf === null)('recorded transactions of mainnet come out with the same hashes', async () => {
  const file = join(requireShelf(), 'data', 'replay', 'mainnet_0_8000000000000000_71398501.json.gz');
  const set = replay.parse(JSON.parse(gunzipSync(readFileSync(file)).toString()));
  const executor = await createExecutor(set.config_boc);
  const randSeed = Buffer.from(set.block.rand_seed, 'hex');
  let same = 0;
  for (const account of set.accounts.slice(0, 10)) {
    // Re-serialised: the level bits of the recorded bags are not what the executor accepts.
    let state = cellText(textCell(account.shard_account_boc));
    for (const { lt, now, hash, boc } of account.transactions) {
      const messages = new Slice(textCell(boc).refs[0]);
      const message = messages.maybeRef();
      if (message === null) continue;
      const context = { lt, now, randSeed, libraries: set.libs_boc ?? null };
      const result = executor.runTransaction(state, cellText(message), context);
      if (!result.accepted) throw new Error(result.reason);
      expect(textCell(result.transaction).hash().toString('hex')).toBe(Buffer.from(hash, 'hex').toString('hex'));
      state = result.shardAccount;
      same++;
    }
  }
  expect(same).toBeGreaterThanOrEqual(10);
  executor.close();
});

test('runs get-methods and says why a message is refused', async () => {
  const { config } = createGenesis('executor', [], 1_700_000_000);
  const executor = await createExecutor(cellText(config));
  const wallet = WalletContractV4.create({ workchain: 0, publicKey: Buffer.alloc(32, 9) });
  const call = {
    code: wallet.init.code.toBoc().toString('base64'),
    data: wallet.init.data.toBoc().toString('base64'),
    address: wallet.address.toRawString(),
    // crc16('seqno') | 0x10000
    methodId: 85143,
    stack: stackText([]),
    now: 1_700_000_000,
    balance: '1000000000',
    randSeed: Buffer.alloc(32),
  };
  const result = executor.runGetMethod(call);
  const zero = serializeTuple([{ type: 'int', value: 0n }])
    .toBoc()
    .toString('base64');
  expect(result).toMatchObject({ success: true, exitCode: 0 });
  if (result.success) expect(textCell(result.stack).hash()).toEqual(textCell(zero).hash());
  expect(executor.runGetMethod({ ...call, methodId: 1 })).toMatchObject({ success: true, exitCode: 11 });
  const message = beginCell()
    .storeUint(2, 2)
    .storeUint(0, 2)
    .storeAddress(wallet.address)
    .storeCoins(0)
    .storeUint(0, 2);
  const none = beginCell().storeRef(beginCell().storeBit(0).endCell()).storeUint(0, 256).storeUint(0, 64);
  const texts = [none, message].map((builder) => builder.endCell().toBoc().toString('base64'));
  const context = { now: 1_700_000_000, lt: '1000000', randSeed: Buffer.alloc(32) };
  expect(executor.runTransaction(texts[0], texts[1], context)).toMatchObject({ accepted: false });
  executor.close();
});

function stackText(items: TupleItem[]): string {
  return serializeTuple(items).toBoc().toString('base64');
}
