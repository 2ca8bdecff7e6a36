/** The v2 API of the one command of a newcomer: over the devnet, the log, the tables and the window, with traffic. */
import { Address, Cell } from '@ton/core';
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
}, 300_000);
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

describe('states', () => {
  it('are those of the liteserver at the block they name', async () => {
    expect(wallets.length).toBeGreaterThan(1);
    const accounts = [...wallets, Address.parse(ELECTOR), Address.parse(NOBODY)];
    for (const account of accounts) {
      for (const more of [{}, { seqno: 3 }, { seqno: 12 }, { seqno: HEAD - 1 }]) {
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
    }
  });

  it('are of the same head as v3', async () => {
    for (let i = 0; i < 5; i++) {
      const before = await shownHead(stack.url);
      const { last } = await ask('getMasterchainInfo', {}, 'MasterchainInfoResult');
      const { block_id } = await ask('getAddressInformation', { address: ELECTOR }, 'AddressInformationResult');
      const { consensus_block } = await ask('getConsensusBlock', {}, 'ConsensusBlockResult');
      const heads = [before, last.seqno, block_id.seqno, consensus_block, await shownHead(stack.url)];
      expect(heads).toEqual([...heads].sort((a, b) => a - b));
    }
  });

  it('come from our own data', async () => {
    const metrics = await (await fetch(`${stack.url}/metrics`)).text();
    const own = metricOf(metrics, 'tonstream_states_total{what="account",from="own"}');
    expect(own).toBeGreaterThan(wallets.length);
  });
});

describe('blocks', () => {
  it('are shown in every form, of every shard', async () => {
    const masters = [2, 9, 13, 17, HEAD];
    for (const seqno of masters) {
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
    }
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

it('pages through the history of every wallet to its first transaction', async () => {
  const client = new TonClient({ endpoint: `${stack.url}/api/v2/jsonRPC` });
  for (const wallet of wallets) {
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
  }
});

it('documents every operation', async () => {
  const page = await fetch(`${stack.url}/api/v2/`);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')]);
  const document = z
    .looseObject({ paths: z.record(z.string(), z.unknown()) })
    .parse(await (await fetch(`${stack.url}/api/v2/openapi.json`)).json());
  const paths = Object.keys(document.paths).map((path) => path.replace(/^\/api\/v2/, ''));
  for (const { path } of v2Routes()) expect(paths).toContain(path);
});

function bytes(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}

function hashOf(boc: string): string | null {
  return boc === '' ? null : Cell.fromBase64(boc).hash().toString('hex');
}
