import { beginCell, serializeTuple, type TupleItem } from '@ton/core';
import { WalletContractV4 } from '@ton/ton';
import { expect, test } from 'vitest';
import { collectGarbage } from '../../test/collect-garbage.ts';
import { ballast } from '../../test/heavy-block.ts';
import { Builder, type Cell } from '../chain/builder.ts';
import { createGenesis } from '../devnet/genesis.ts';
import { cellText, createExecutor, textCell, UNWRITABLE } from './executor.ts';
import { compileExecutor, instantiateExecutor } from './module.ts';
import { codes } from './test-contracts.ts';

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

const withoutArguments = (code: Cell) => ({
  code: cellText(code),
  data: cellText(new Builder().cell()),
  address: `0:${'00'.repeat(32)}`,
  methodId: 1,
  stack: stackText([]),
  now: 1_700_000_000,
  balance: '1000000000',
  randSeed: Buffer.alloc(32),
});

test('a message is run however far what a get-method left was gone through', async () => {
  const emulator = await instantiateExecutor(await compileExecutor());
  const config = cellText(createGenesis('executor', [], 1_700_000_000).config);
  const executor = await createExecutor(config, emulator);
  expect(executor.runGetMethod(withoutArguments(codes.doubled(16)))).toEqual({ success: false, reason: UNWRITABLE });
  expect(emulator.walk.left).toBe(Number.POSITIVE_INFINITY);
  executor.close();
});

test('a get-method that makes as many actions as there may be is told as it is', async () => {
  const executor = await createExecutor(cellText(createGenesis('executor', [], 1_700_000_000).config));
  // `PUSHINT 1, PUSHINT 0, RAWRESERVE`, 255 times.
  const code = new Builder().bytes(Buffer.from('ff00308100ff947170fb02e4', 'hex')).cell();
  expect(executor.runGetMethod(withoutArguments(code))).toMatchObject({ success: true, exitCode: 0 });
  executor.close();
});

test('a large code takes no memory for each of the methods that are asked of it', async () => {
  const executor = await createExecutor(cellText(createGenesis('executor', [], 1_700_000_000).config));
  // Looks at the configuration: CONFIGROOT, DROP.
  const code = new Builder().bytes(Buffer.from('ff0030f82930', 'hex')).ref(ballast(200)).cell();
  const call = withoutArguments(code);
  const run = (methodId: number) => executor.runGetMethod({ ...call, methodId });
  expect(run(1)).toMatchObject({ success: true, seen: 'more' });
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let methodId = 2; methodId < 42; methodId++) run(methodId);
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * call.code.length);
  executor.close();
});

function stackText(items: TupleItem[]): string {
  return serializeTuple(items).toBoc().toString('base64');
}
