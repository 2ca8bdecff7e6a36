/** The v2 API of the one command of a newcomer: over the devnet, the log, the tables and the window, with traffic. */
import { Address, beginCell, Cell, contractAddress, external, storeMessage } from '@ton/core';
import { TonClient } from '@ton/ton';
import type { LiteClient } from 'ton-lite-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { v2Routes } from '../src/api/v2/routes.ts';
import { liteClient } from './lite-client.ts';
import { metricOf } from './metrics.ts';
import { shelf } from './shelf.ts';
import { specSchemas } from './spec-schemas.ts';
import { type Stack, shownHead, startStack, until } from './stack.ts';

/** Behind splits and merges, with some history. */
const HEAD = 24;
const NOBODY = `0:${'7'.repeat(64)}`;
const ELECTOR = `-1:${'3'.repeat(64)}`;

const hold = shelf === null ? () => undefined : specSchemas('v2');
const answered = z.looseObject({ ok: z.boolean(), result: z.any().optional(), error: z.string().optional() });

let stack: Stack;
let lite: { client: LiteClient; close(): void };
let wallets: Address[];

beforeAll(async () => {
  const flags = ['--block-time', '400ms', '--devnet-rate', '2', '--split-at', '8', '--merge-at', '16'];
  stack = await startStack({ network: 'devnet', flags });
  const [first] = await stack.program.printed(/^.*v4r2 +\S+ +[0-9a-f]{64}.*$/m);
  expect(first).toBeTruthy();
  wallets = [...stack.program.output().matchAll(/v\dr\d +(\S+) +[0-9a-f]{64}/g)].map(([, text]) => Address.parse(text));
  lite = await liteClient(stack.dataDir);
  await until(`step ${HEAD}`, async () => ((await shownHead(stack.url)) >= HEAD ? true : null));
});
afterAll(async () => {
  lite?.close();
  await stack?.remove();
});

async function ask(method: string, params: object, schema: string) {
  const body = JSON.stringify({ id: 1, jsonrpc: '2.0', method, params });
  const response = await fetch(`${stack.url}/api/v2/jsonRPC`, { method: 'POST', body });
  const { result, error } = answered.parse(await response.json());
  expect(response.status, `${method} ${JSON.stringify(params)}: ${error}`).toBe(200);
  hold(schema, result);
  return result;
}

const shardText = (shard: string): string => BigInt.asIntN(64, BigInt(`0x${shard}`)).toString();

describe.concurrent('states', () => {
  it.sequential('are those of the liteserver at the block they name', async () => {
    expect(wallets.length).toBeGreaterThan(1);
    const accounts = [...wallets, Address.parse(ELECTOR), Address.parse(NOBODY)];
    const look = async (account: Address): Promise<void> => {
      // The devnet keeps its newest states only.
      const head = await shownHead(stack.url);
      for (const more of [{ seqno: head - 20 }, { seqno: head - 11 }, {}, { seqno: head - 1 }]) {
        const parameters = { address: account.toString(), ...more };
        const info = await ask('getAddressInformation', parameters, 'AddressInformationResult');
        const { seqno, shard, root_hash, file_hash } = info.block_id;
        const id = { workchain: -1, seqno, shard, rootHash: bytes(root_hash), fileHash: bytes(file_hash) };
        const { state, balance, lastTx } = await lite.client.getAccountState(account, id);
        const name = `${account} at ${seqno}`;
        expect(info.balance, name).toBe(balance.coins.toString());
        expect(info.last_transaction_id.lt, name).toBe(String(lastTx?.lt ?? 0));
        const { code, data } = state?.storage.state.type === 'active' ? state.storage.state.state : {};
        expect(info.state, name).toBe(code ? 'active' : 'uninitialized');
        expect([hashOf(info.code), hashOf(info.data)], name).toEqual(
          [code, data].map((cell) => cell?.hash().toString('hex') ?? null),
        );
        const cell = await ask('getShardAccountCell', parameters, 'ShardAccountCellResult');
        expect(Cell.fromBase64(cell.bytes).refs).toHaveLength(1);
        await ask('getExtendedAddressInformation', parameters, 'ExtendedAddressInformationResult');
        await ask('getWalletInformation', parameters, 'WalletInformationResult');
        await ask('getAddressBalance', parameters, 'AddressBalanceResult');
        await ask('getAddressState', parameters, 'AddressStateResult');
      }
    };
    await Promise.all(accounts.map(look));
  });

  it.sequential('are of the same head as v3', async () => {
    for (let i = 0; i < 5; i++) {
      const before = await shownHead(stack.url);
      const { last } = await ask('getMasterchainInfo', {}, 'MasterchainInfoResult');
      const { block_id } = await ask('getAddressInformation', { address: ELECTOR }, 'AddressInformationResult');
      const { consensus_block } = await ask('getConsensusBlock', {}, 'ConsensusBlockResult');
      const heads = [before, last.seqno, block_id.seqno, consensus_block, await shownHead(stack.url)];
      expect(heads).toEqual([...heads].sort((a, b) => a - b));
    }
  });

  it.sequential('come from our own data', async () => {
    const metrics = await (await fetch(`${stack.url}/metrics`)).text();
    const own = metricOf(metrics, 'tonstream_states_total{what="account",from="own"}');
    expect(own).toBeGreaterThan(wallets.length);
  });
});

describe.concurrent('blocks', () => {
  it('are shown in every form, of every shard', async () => {
    const masters = [2, 9, 13, 17, HEAD];
    const look = async (seqno: number): Promise<void> => {
      const { shards } = await ask('shards', { seqno }, 'ShardsResult');
      const master = await ask(
        'lookupBlock',
        { workchain: -1, shard: shardText('8000000000000000'), seqno },
        'LookupBlockResult',
      );
      for (const { workchain, shard, seqno: at } of [master, ...shards]) {
        const place = { workchain, shard, seqno: at };
        if (at === 0) continue;
        const header = await ask('getBlockHeader', place, 'BlockHeaderResult');
        expect(header.id).toMatchObject(place);
        await ask('getBlockTransactions', { ...place, count: 10 }, 'BlockTransactionsResult');
        await ask('getBlockTransactionsExt', { ...place, count: 10 }, 'BlockTransactionsExtResult');
        const proof = await ask('getShardBlockProof', place, 'ShardBlockProofResult');
        expect(proof.mc_id.seqno).toBeLessThanOrEqual(seqno);
      }
      const signed = await ask('getMasterchainBlockSignatures', { seqno }, 'MasterchainBlockSignaturesResult');
      expect(signed.id).toEqual(master);
      expect(signed.signatures.length).toBeGreaterThan(0);
    };
    await Promise.all(masters.map(look));
    const { shards } = await ask('getOutMsgQueueSizes', {}, 'OutMsgQueueSizesResult');
    expect(shards.map(({ id }: { id: { workchain: number } }) => id.workchain)).toEqual([-1, 0]);
  });

  it('show how they are configured', async () => {
    const now = await ask('getConfigAll', {}, 'ConfigInfoResult');
    expect(await ask('getConfigAll', { seqno: 3 }, 'ConfigInfoResult')).toHaveProperty('config');
    const version = await ask('getConfigParam', { config_id: 8 }, 'ConfigInfoResult');
    expect(Cell.fromBase64(now.config.bytes).depth()).toBeGreaterThan(Cell.fromBase64(version.config.bytes).depth());
    await ask('getLibraries', { libraries: ['ff'.repeat(32)] }, 'LibrariesResult');
  });
});

it.concurrent('pages through the history of every wallet to its first transaction', async () => {
  const client = new TonClient({ endpoint: `${stack.url}/api/v2/jsonRPC` });
  const look = async (wallet: Address): Promise<void> => {
    const { lastTransaction } = await client.getContractState(wallet);
    const seen: string[] = [];
    let from = lastTransaction;
    while (from !== null && from.lt !== '0') {
      const page = await client.getTransactions(wallet, { limit: 5, ...from, inclusive: true, archival: true });
      const last = page.at(-1);
      seen.push(...page.map(({ lt }) => lt.toString()));
      if (last === undefined) throw new Error(`no transaction at ${from.lt}`);
      const hash = Buffer.from(last.prevTransactionHash.toString(16).padStart(64, '0'), 'hex').toString('base64');
      from = { lt: last.prevTransactionLt.toString(), hash };
    }
    expect(new Set(seen).size).toBe(seen.length);
  };
  await Promise.all(wallets.map(look));
});

it.concurrent('answers every operation by GET, POST and name alike, in the form of the contract', async () => {
  const asked = await operations();
  for (const { path, methods } of v2Routes()) {
    const name = path.slice(1);
    const [schema, parameters] = asked[name] ?? [];
    expect(parameters, `${name} is asked`).toBeDefined();
    const posted = await posting(name, parameters);
    const named = await posting('jsonRPC', { id: 'x', jsonrpc: '2.0', method: name, params: parameters });
    for (const { status, body } of [posted, named]) expect([name, status, body.error]).toEqual([name, 200, undefined]);
    expect(named.body).toMatchObject({ jsonrpc: '2.0', id: 'x' });
    if (schema !== null) for (const { body } of [posted, named]) hold(schema ?? '', body.result);
    const query = new URLSearchParams(
      Object.entries(parameters ?? {}).map(([key, value]): [string, string] => [key, String(value)]),
    );
    const got = await fetch(`${stack.url}/api/v2${path}?${query}`);
    expect([name, got.status]).toEqual([name, methods.includes('GET') ? 200 : 405]);
    const { result } = answered.parse(await got.json());
    if (methods.includes('GET') && schema !== null) hold(schema ?? '', result);
  }
});

async function posting(path: string, members: object = {}) {
  const response = await fetch(`${stack.url}/api/v2/${path}`, { method: 'POST', body: JSON.stringify(members) });
  return { status: response.status, body: answered.parse(await response.json()) };
}

/** `SETCP0, ACCEPT`: takes whatever it is sent. */
const ACCEPTING = { code: beginCell().storeUint(0xff00f800, 32).endCell(), data: new Cell() };
const masters = z.object({ jetton_masters: z.array(z.object({ address: z.string() })) });

async function fundAccepting(): Promise<Address> {
  const address = contractAddress(0, ACCEPTING);
  const body = JSON.stringify({ address: address.toString({ bounceable: false }), amount: '5' });
  expect((await fetch(`${stack.url}/devnet/faucet`, { method: 'POST', body })).status).toBe(200);
  const balance = () => posting('getAddressBalance', { address: address.toString() });
  await until('the gift arrives', async () => ((await balance()).body.result === '0' ? null : true));
  return address;
}

/** Of each operation the form of its result, null where the contract has none, and what it can be asked with. */
async function operations(): Promise<Record<string, [string | null, object]>> {
  const [wallet] = wallets;
  const of = { address: wallet.toString() };
  const accepting = (await fundAccepting()).toString();
  const { result: history } = (await posting('getTransactions', { address: accepting })).body;
  const { source, destination, created_lt } = history[0].in_msg;
  const message = { source, destination, created_lt };
  const { jetton_masters } = masters.parse(await (await fetch(`${stack.url}/api/v3/jetton/masters`)).json());
  const block = { workchain: -1, shard: shardText('8000000000000000'), seqno: 12 };
  const run = { ...of, method: 'seqno', stack: [] };
  const base64 = (cell: Cell): string => cell.toBoc().toString('base64');
  const init = { init_code: base64(ACCEPTING.code), init_data: base64(ACCEPTING.data) };
  const query = { address: accepting, body: base64(beginCell().endCell()), ...init };
  const { result: root } = (await posting('getConfigParam', { config_id: 4 })).body;
  const resolver = new Address(-1, Cell.fromBase64(root.config.bytes).beginParse().loadBuffer(32));
  const sent = external({
    to: contractAddress(0, ACCEPTING),
    init: ACCEPTING,
    body: beginCell().storeBit(1).endCell(),
  });
  const boc = base64(beginCell().store(storeMessage(sent)).endCell());
  const hash = Buffer.alloc(32, 1).toString('base64url');
  return {
    getAddressInformation: ['AddressInformationResult', of],
    getExtendedAddressInformation: ['ExtendedAddressInformationResult', of],
    getWalletInformation: ['WalletInformationResult', of],
    getAddressBalance: ['AddressBalanceResult', of],
    getAddressState: ['AddressStateResult', of],
    getShardAccountCell: ['ShardAccountCellResult', of],
    getTokenData: ['TokenDataResult', { address: jetton_masters[0].address }],
    dnsResolve: ['DnsResolveResult', { address: resolver.toString(), name: 'ton', ttl: 8 }],
    getMasterchainInfo: ['MasterchainInfoResult', {}],
    getConsensusBlock: ['ConsensusBlockResult', {}],
    lookupBlock: ['LookupBlockResult', block],
    shards: ['ShardsResult', { seqno: 12 }],
    getShards: ['ShardsResult', { seqno: 12 }],
    getBlockHeader: ['BlockHeaderResult', block],
    getBlockTransactions: ['BlockTransactionsResult', block],
    getBlockTransactionsExt: ['BlockTransactionsExtResult', block],
    getMasterchainBlockSignatures: ['MasterchainBlockSignaturesResult', { seqno: 12 }],
    getShardBlockProof: ['ShardBlockProofResult', block],
    getOutMsgQueueSizes: ['OutMsgQueueSizesResult', {}],
    getOutMsgQueueSize: ['OutMsgQueueSizesResult', {}],
    getWorkerState: [null, {}],
    getTransactions: ['TransactionsResult', of],
    getTransactionsStd: ['TransactionsStdResult', of],
    tryLocateTx: ['TryLocateTxResult', message],
    tryLocateResultTx: ['TryLocateTxResult', message],
    tryLocateSourceTx: ['TryLocateTxResult', message],
    getConfigParam: ['ConfigInfoResult', { param: 8 }],
    getConfigAll: ['ConfigInfoResult', {}],
    getLibraries: ['LibrariesResult', { libraries: hash }],
    runGetMethod: ['RunGetMethodResult', run],
    runGetMethodStd: ['RunGetMethodStdResult', run],
    sendBoc: ['SendBocResult', { boc }],
    sendBocReturnHash: ['SendBocReturnHashResult', { boc }],
    sendBocReturnHashNoError: ['SendBocReturnHashResult', { boc }],
    sendBocUnsafe: ['SendBocResult', { boc }],
    sendQuery: ['SendQueryResult', query],
    sendQuerySimple: ['SendQueryResult', query],
    sendCellSimple: ['SendBocResult', { cell: boc }],
    estimateFee: ['EstimateFeeResult', query],
    estimateFeeSimple: ['EstimateFeeResult', query],
    detectAddress: ['DetectAddressResult', of],
    detectHash: ['DetectHashResult', { hash }],
    packAddress: ['PackAddressResult', of],
    unpackAddress: ['UnpackAddressResult', of],
  };
}

it.concurrent('documents every operation', async () => {
  const page = await fetch(`${stack.url}/api/v2/`);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  const document = z
    .looseObject({ paths: z.record(z.string(), z.unknown()) })
    .parse(await (await fetch(`${stack.url}/api/v2/openapi.json`)).json());
  const paths = Object.keys(document.paths).map((path) => path.replace(/^\/api\/v2/, ''));
  for (const { path } of v2Routes()) expect(paths).toContain(path);
  expect(paths).toContain('/jsonRPC');
});

function bytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}

function hashOf(boc: string): string | null {
  return boc === '' ? null : Cell.fromBase64(boc).hash().toString('hex');
}
