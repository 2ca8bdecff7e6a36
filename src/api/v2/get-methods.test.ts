/** Get-methods and fees over a devnet, whose liteserver has what the index does not show. */
import { Address, beginCell, Cell as CoreCell, loadTransaction, type Slice, toNano } from '@ton/core';
import { TonClient, type TupleItem } from '@ton/ton';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { silent } from '../../../clickhouse/test-server.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from '../../../test/api-server.ts';
import { askChanged, REFUSED, TAKEN, UNSUITABLE } from '../../../test/changed-answers.ts';
import { COIN, type ServedDevnet, serveDevnet } from '../../../test/devnet-served.ts';
import { createTestWallet } from '../../../test/devnet-wallets.ts';
import { createMemoryChain } from '../../../test/memory-source.ts';
import { requireShelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { Builder, type Cell } from '../../chain/builder.ts';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { ProducedBlock } from '../../devnet/model.ts';
import { parseGlobalConfig } from '../../node/global-config.ts';
import { createLitePool, type LitePool } from '../../node/lite-pool.ts';
import type { MasterBlock } from '../../state/master-blocks.ts';
import { codes } from '../../tvm/test-contracts.ts';
import { createKeptRuns } from '../kept-runs.ts';

const NOBODY = `0:${'7'.repeat(64)}`;
const asm = (hex: string): Cell => new Builder().bytes(Buffer.from(`ff0030${hex}`, 'hex')).cell();

/** Contracts in machine code; each drops the id of the method. */
const CONTRACTS = {
  echo: codes.echo,
  kinds: codes.kinds,
  now: asm('f823'),
  configRoot: codes.configRoot,
  lastBlocks: asm('f83400'),
  keyBlock: asm('f83401'),
  hundreds: asm('f83402'),
  endless: codes.endless,
  longList: codes.list(900),
  longerList: codes.list(13_000),
  doubled: codes.doubled(200),
  throws: asm('f228'),
} as const;
type Name = keyof typeof CONTRACTS;
const names = Object.keys(CONTRACTS) as Name[];
const addressOf = (name: Name): Address => new Address(0, Buffer.alloc(32, 0xa0 + names.indexOf(name)));

let devnet: ServedDevnet;
let source: ChainSource;
let masterBlock: MasterBlock;
let pool: LitePool;
let server: ApiServer;
/** Gives contracts little time. */
let hasty: ApiServer;
let alone: ApiServer;
let client: TonClient;
let hold: ReturnType<typeof specSchemas>;

beforeAll(async () => {
  requireShelf();
  hold = specSchemas('v2');
  const wallets = Array.from({ length: 12 }, (_, i) => createTestWallet(i, i < 2 ? -1 : 0));
  const contracts = names.map((name) => ({
    workchain: 0,
    hash: addressOf(name).hash,
    balance: COIN,
    code: CONTRACTS[name],
    data: new Builder().u(7, 8).cell(),
  }));
  const genesis = [...wallets.map((wallet) => wallet.genesis(10_000_000n * COIN)), ...contracts];
  devnet = await serveDevnet({}, { genesis });
  pool = createLitePool(parseGlobalConfig(JSON.parse(devnet.server.globalConfig)), { logger: silent });
  const blocks = devnet.steps.flatMap(({ mc, shards }) =>
    [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno })),
  );
  source = createMemoryChain(blocks).source;
  masterBlock = async (seqno: number) => devnet.steps[seqno - 1]?.mc.bytes ?? null;
  server = await serveApi(source, { liteservers: pool, masterBlock, limits: PATIENT_LIMITS, tvmTimeoutMs: 60_000 });
  hasty = await serveApi(source, { liteservers: pool, masterBlock, limits: PATIENT_LIMITS, tvmTimeoutMs: 5_000 });
  alone = await serveApi(source, { masterBlock });
  client = new TonClient({ endpoint: `${server.url}/api/v2/jsonRPC` });
});
afterAll(async () => {
  expect([...server.reported, ...hasty.reported]).toEqual([]);
  await Promise.all([server.close(), hasty.close(), alone.close()]);
  await pool.close();
  await devnet.close();
});

const answered = z.looseObject({ result: z.any().optional(), error: z.string().optional() });

async function post(path: string, members: object, url = server.url) {
  const response = await fetch(`${url}/api/${path}`, { method: 'POST', body: JSON.stringify(members) });
  return { status: response.status, ...answered.parse(await response.json()) };
}

async function run(name: Name, stack: unknown[] = [], more: object = {}) {
  const answer = await post('v2/runGetMethod', { address: addressOf(name).toString(), method: 'get', stack, ...more });
  expect(answer, answer.error).toMatchObject({ status: 200 });
  hold('RunGetMethodResult', answer.result);
  return answer.result;
}

it('the client reads wallets, now and as of a step', async () => {
  for (const { address, seqno } of devnet.wallets) {
    const { stack, gas_used } = await client.runMethod(address, 'seqno');
    expect(stack.readNumber()).toBe(seqno);
    expect(gas_used).toBeGreaterThan(0);
    expect((await client.runMethod(address, 'get_public_key')).stack.readBigNumber()).toBeGreaterThan(0n);
  }
  const wallet = devnet.wallets[4];
  const seen: number[] = [];
  for (let seqno = 2; seqno <= devnet.steps.length; seqno++) {
    const body = { address: wallet.address.toRawString(), method: 85143, stack: [], seqno };
    const { result } = await post('v2/runGetMethod', body);
    expect(result.block_id).toMatchObject({ seqno, workchain: -1 });
    seen.push(Number(result.stack[0][1]));
  }
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen[0]).toBe(0);
  expect(seen.at(-1)).toBe(wallet.seqno);
});

it('runs are kept while nothing that they see changes, and answer the same', async () => {
  const runs = createKeptRuns(1_000_000);
  const keeping = await serveApi(source, { liteservers: pool, masterBlock, limits: PATIENT_LIMITS, runs });
  const wallet = devnet.wallets[4].address.toRawString();
  const cell = beginCell().storeUint(5, 7).endCell().toBoc().toString('base64');
  const asked = [
    { address: wallet, method: 'seqno', stack: [] },
    { address: wallet, method: 'get_public_key', stack: [] },
    { address: wallet, method: 'no such method', stack: [] },
    {
      address: addressOf('echo').toString(),
      method: 'get',
      stack: [
        ['num', '5'],
        ['cell', cell],
      ],
    },
    { address: addressOf('echo').toString(), method: 'get', stack: [['num', '6']] },
    { address: addressOf('now').toString(), method: 'get', stack: [] },
  ];
  const results: unknown[] = [];
  for (const members of [...asked, ...asked]) {
    const { status, result } = await post('v2/runGetMethod', members, keeping.url);
    expect([status, result]).toEqual([200, (await post('v2/runGetMethod', members)).result]);
    results.push(result);
  }
  expect(results.slice(asked.length)).toEqual(results.slice(0, asked.length));
  // The last one sees the time.
  expect(runs.figures).toEqual({ made: asked.length + 1, kept: asked.length - 1 });
  const seqnos: number[] = [];
  for (let seqno = 2; seqno <= devnet.steps.length; seqno++) {
    const { result } = await post('v2/runGetMethod', { ...asked[0], seqno }, keeping.url);
    seqnos.push(Number(result.stack[0][1]));
  }
  expect(new Set(seqnos).size).toBeGreaterThan(2);
  expect(seqnos.at(-1)).toBe(devnet.wallets[4].seqno);
  expect(keeping.reported).toEqual([]);
  await keeping.close();
});

it('every kind of value goes in and comes out again, in every spelling', async () => {
  const cell = beginCell().storeUint(5, 7).storeRef(beginCell().storeInt(-1, 9).endCell()).endCell();
  const items: TupleItem[] = [
    { type: 'int', value: -(2n ** 256n) },
    { type: 'int', value: 2n ** 256n - 1n },
    { type: 'cell', cell },
    { type: 'slice', cell },
  ];
  const { stack } = await client.runMethod(addressOf('echo'), 'get', items);
  expect([stack.readBigNumber(), stack.readBigNumber()]).toEqual([-(2n ** 256n), 2n ** 256n - 1n]);
  expect(stack.readCell().equals(cell)).toBe(true);
  expect(stack.readCell().equals(cell)).toBe(true);

  const bytes = cell.toBoc().toString('base64');
  const number = (n: number) => ({
    '@type': 'tvm.stackEntryNumber',
    number: { '@type': 'tvm.numberDecimal', number: `${n}` },
  });
  const list = { '@type': 'tvm.list', elements: [number(1), number(-2)] };
  const tuple = { '@type': 'tvm.tuple', elements: [number(3), { '@type': 'tvm.stackEntryList', list }, number(4)] };
  const echoed = await run('echo', [['num', '0x1f'], ['num', -5], ['list', list], ['tuple', tuple], ['null']]);
  expect(echoed.stack).toEqual([
    ['num', '0x1f'],
    ['num', '-0x5'],
    ['list', list],
    ['tuple', tuple],
    ['list', { '@type': 'tvm.list', elements: [] }],
  ]);
  const typed = [
    number(7),
    { '@type': 'tvm.stackEntryCell', cell: { '@type': 'tvm.cell', bytes } },
    { '@type': 'tvm.stackEntrySlice', slice: { '@type': 'tvm.slice', bytes } },
    { '@type': 'tvm.stackEntryTuple', tuple },
    { '@type': 'tvm.stackEntryList', list },
  ];
  const std = await post('v2/runGetMethodStd', { address: addressOf('echo').toString(), method: 'get', stack: typed });
  hold('RunGetMethodStdResult', std.result);
  const bag = (entry: object) =>
    JSON.parse(JSON.stringify(entry), (key, value) =>
      key === 'bytes' ? CoreCell.fromBase64(value).hash().toString('hex') : value,
    );
  expect(std.result.stack.map(bag)).toEqual(typed.map(bag));
  expect((await run('kinds')).stack.map(([tag]: [string]) => tag)).toEqual([
    'cell',
    'unsupported',
    'unsupported',
    'unsupported',
    'tuple',
  ]);

  const v3 = {
    address: addressOf('echo').toString(),
    method: 'get',
    stack: [
      { type: 'num', value: '-0x10' },
      { type: 'cell', value: bytes },
    ],
  };
  expect(await post('v3/runGetMethod', v3)).toMatchObject({
    status: 200,
    exit_code: 0,
    gas_used: expect.any(Number),
    stack: [
      { type: 'num', value: '-0x10' },
      { type: 'cell', value: expect.any(String) },
    ],
  });
});

const block = z.object({
  tuple: z.object({ elements: z.array(z.object({ number: z.object({ number: z.string() }) })) }),
});

it('a contract sees the time of its shard, the configuration and the blocks of the newest step', async () => {
  const newest = devnet.steps.length;
  expect(Number((await run('now')).stack[0][1])).toBe(1_700_000_000 + newest);
  expect(Number((await run('now', [], { seqno: 5 })).stack[0][1])).toBe(1_700_000_005);
  const { result: config } = await post('v2/getConfigAll', {});
  const [[, root]] = (await run('configRoot')).stack;
  const hashOf = (base64: string): string => CoreCell.fromBase64(base64).hash().toString('hex');
  expect(hashOf(root.bytes)).toBe(hashOf(config.config.bytes));

  const idOf = ({ seqno, rootHash, fileHash }: ProducedBlock) => [
    -1n,
    2n ** 63n,
    BigInt(seqno),
    ...[rootHash, fileHash].map((hash) => BigInt(`0x${hash.toString('hex')}`)),
  ];
  const numbers = (entry: unknown): bigint[] =>
    block.parse(entry).tuple.elements.map(({ number }) => BigInt(number.number));
  // As of an old step, too.
  for (const more of [{}, { seqno: 3 }]) {
    const [[kind, blocks]] = (await run('lastBlocks', [], more)).stack;
    expect(kind).toBe('tuple');
    const told = blocks.elements.map(numbers);
    const produced = devnet.steps.map(({ mc }) => idOf(mc)).reverse();
    expect(told.slice(0, produced.length)).toEqual(produced);
    // The zero state stands at the end of a young chain.
    expect(told).toHaveLength(Math.min(16, newest + 1));
    expect(told.at(-1)?.[2]).toBe(0n);
  }
  const [[, key]] = (await run('keyBlock')).stack;
  expect(Number(key.elements[2].number.number)).toBeLessThan(newest);
  const [[, hundreds]] = (await run('hundreds')).stack;
  expect(hundreds.elements.map((entry: unknown) => numbers(entry)[2])).toEqual([0n]);
});

it('TonClient takes what the contract allows, and refuses what it does not', async () => {
  // It sends for each change, and nobody else is asked about it.
  const wallet = devnet.wallets[7];
  const holds = (schema: string, result: unknown): boolean => {
    try {
      hold(schema, result);
      return true;
    } catch {
      return false;
    }
  };
  for (const [changes, isTaken, isHeld] of [
    [REFUSED, false, false],
    [UNSUITABLE, false, true],
    [TAKEN, true, null],
  ] as const) {
    for (const change of changes) {
      const { result, ...told } = await askChanged(server.url, wallet, change);
      const name = `${change.path.join('.')}: ${JSON.stringify(change.value)}`;
      expect({ name, ...told }).toEqual({ name, isTaken });
      if (isHeld !== null) expect({ name, isHeld: holds(change.schema, result) }).toEqual({ name, isHeld });
    }
  }
});

it('a method that fails is an answer', async () => {
  expect(await run('throws')).toMatchObject({ exit_code: 40, gas_used: expect.any(Number) });
  expect(await run('endless')).toMatchObject({ exit_code: -14, gas_used: expect.any(Number) });
  const nobody = await post('v2/runGetMethod', { address: NOBODY, method: 'seqno', stack: [['num', '1']] });
  expect(nobody.result).toMatchObject({
    exit_code: -13,
    gas_used: 0,
    stack: [
      ['num', '0x1'],
      ['num', '0x14c97'],
    ],
  });
  hold('RunGetMethodResult', nobody.result);
  // Ids are signed, and integers of JSON have 64 bits.
  for (const method of ['"-2"', '-2', '"-0x2"']) {
    const response = await fetch(`${server.url}/api/v2/runGetMethod`, {
      method: 'POST',
      body: `{"address":"${NOBODY}","method":${method},"stack":[["num",-9007199254740993]]}`,
    });
    const left = [
      ['num', '-0x20000000000001'],
      ['num', '-0x2'],
    ];
    expect(await response.json()).toMatchObject({ result: { stack: left } });
  }
});

it('what contracts leave costs its limit', async () => {
  const [[, list]] = (await run('longList')).stack;
  expect(list.elements).toHaveLength(900);
  const ask = (name: Name, url?: string) =>
    post('v2/runGetMethod', { address: addressOf(name).toString(), method: 'get', stack: [] }, url);
  expect(await ask('longerList')).toMatchObject({ status: 500, error: 'TVM stack size exceeds limit' });
  const token = await post('v2/getTokenData', { address: addressOf('longerList').toString() });
  expect(token).toMatchObject({ status: 409, error: expect.stringMatching(/is not Jetton or NFT$/) });
  expect((await ask('doubled', hasty.url)).status).toBe(500);
  // Whatever became of its thread, the next call is answered.
  const { address, seqno } = devnet.wallets[3];
  const after = new TonClient({ endpoint: `${hasty.url}/api/v2/jsonRPC` });
  expect((await after.runMethod(address, 'seqno')).stack.readNumber()).toBe(seqno);
});

it('says what is wrong with a question', async () => {
  const address = addressOf('echo').toString();
  const nested = `${'["tuple",{"elements":['.repeat(10_000)}["num","1"]${']}]'.repeat(10_000)}`;
  const response = await fetch(`${server.url}/api/v2/runGetMethod`, {
    method: 'POST',
    body: `{"address":"${address}","method":"x","stack":[${nested}]}`,
  });
  expect(response.status).toBe(422);
  const cases: [object, number, RegExp][] = [
    [{ method: 'x', stack: [] }, 422, /^failed to parse post request: address required$/],
    [{ address, stack: [] }, 422, /^failed to parse post request: method required$/],
    [{ address, method: 'x' }, 422, /^failed to parse post request: stack required$/],
    [{ address, method: 'x', stack: 5 }, 422, /^failed to parse post request: failed to parse stack$/],
    [{ address, method: 'x', stack: [['num', 'x']] }, 422, /Invalid number/],
    [{ address, method: 'x', stack: [['tvm.Cell', 'AAAA']] }, 500, /^cannot deserialize bag-of-cells: /],
    [{ address, method: 'x', stack: [['tvm.Builder', '']] }, 542, /Unsupported stack entry type: tvm.Builder/],
    [{ address, method: 'x', stack: Array(9000).fill(['num', 1]) }, 422, /8000/],
    [{ address, method: {}, stack: [] }, 422, /^failed to parse post request: failed to parse method$/],
    [{ address, method: 2 ** 40, stack: [] }, 422, /^failed to parse post request: failed to parse method$/],
    [{ address, method: '4294967296', stack: [] }, 422, /^failed to parse post request: failed to parse method$/],
    [{ address, method: '99999999999', stack: [] }, 422, /^failed to parse post request: failed to parse method$/],
    [{ address, method: 'x', stack: [], seqno: 0 }, 422, /seqno should be positive/],
    [{ address, method: 'x', stack: [], seqno: 1000 }, 500, /^LITE_SERVER_NOTREADY/],
  ];
  for (const [members, status, error] of cases) {
    expect(await post('v2/runGetMethod', members)).toMatchObject({ status, error: expect.stringMatching(error) });
  }
  expect(await post('v3/runGetMethod', { method: 'x' })).toMatchObject({ status: 401, error: 'address is required' });
  expect(await post('v3/runGetMethod', { address, method: 'x', stack: [{ type: 'list' }] })).toMatchObject({
    status: 500,
    error: 'unsupported stack parameter type: list',
  });
  const builder = await post('v3/runGetMethod', { address: addressOf('kinds').toString(), method: 'x' });
  expect(builder.status).toBe(501);
});

it('without a network it says so where the state is not our own', async () => {
  const call = { address: addressOf('echo').toString(), method: 'x', stack: [] };
  expect(await post('v2/runGetMethod', call, alone.url)).toMatchObject({
    status: 542,
    error: expect.stringMatching(/^no workers available: .*--network/),
  });
  expect(await post('v3/runGetMethod', call, alone.url)).toMatchObject({
    status: 500,
    error: expect.stringMatching(/^ton-http-api endpoint is not specified/),
  });
});

it('tells the fees that the chain then takes', async () => {
  const wallet = devnet.wallets[3];
  const sent = CoreCell.fromBoc(wallet.pay({ to: devnet.wallets[4].address, value: toNano('1'), bounce: false }))[0];
  wallet.takeBack();
  const slice: Slice = sent.beginParse();
  slice.skip(2 + 2);
  slice.loadAddress();
  slice.loadCoins();
  slice.skip(1);
  const body = slice.loadBit() ? slice.loadRef() : slice.asCell();
  const fees = await client.estimateExternalMessageFee(wallet.address, {
    body,
    initCode: null,
    initData: null,
    ignoreSignature: true,
  });
  expect(
    devnet.chain.submit(wallet.pay({ to: devnet.wallets[4].address, value: toNano('1'), bounce: false })),
  ).toMatchObject({ accepted: true });
  devnet.produce();
  const account = devnet.chain.account(0, wallet.address.hash);
  if (account === null) throw new Error('the wallet is there');
  const { lastTransactionLt: lt, lastTransactionHash: hash } = account;
  const [known] = devnet.chain.transactions(0, wallet.address.hash, { lt, hash }, 1);
  const transaction = loadTransaction(CoreCell.fromBoc(known.boc)[0].beginParse());
  const { description } = transaction;
  if (description.type !== 'generic' || description.computePhase.type !== 'vm') throw new Error('a run');
  expect(BigInt(fees.source_fees.gas_fee)).toBe(description.computePhase.gasFees);
  expect(BigInt(fees.source_fees.fwd_fee)).toBe(description.actionPhase?.totalFwdFees);
  const { result } = await post('v2/estimateFee', {
    address: wallet.address.toString(),
    body: body.toBoc().toString('base64'),
  });
  hold('EstimateFeeResult', result);
  expect(
    await post('v3/estimateFee', { address: wallet.address.toString(), body: body.toBoc().toString('base64') }),
  ).toMatchObject({
    status: 200,
    source_fees: { gas_fee: result.source_fees.gas_fee, in_fwd_fee: expect.any(Number) },
    destination_fees: [],
  });
  expect(await post('v2/estimateFee', { address: NOBODY, body: 'AAAA' })).toMatchObject({
    status: 500,
    error: expect.stringMatching(/^INVALID_BAG_OF_CELLS: body/),
  });
});
