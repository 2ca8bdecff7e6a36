/** What nodes know of states, over a devnet of which the index begins late and ends early. */
import { Address, Cell, loadShardAccount } from '@ton/core';
import { TonClient } from '@ton/ton';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { silent } from '../../../clickhouse/test-server.ts';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { COIN, type ServedDevnet, serveDevnet } from '../../../test/devnet-served.ts';
import { createMemoryChain, type MemoryChain } from '../../../test/memory-source.ts';
import { shelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { openBoc } from '../../chain/boc.ts';
import { decodeHeader } from '../../chain/header.ts';
import { configurationOf } from '../../devnet/liteserver/settings.ts';
import { parseGlobalConfig } from '../../node/global-config.ts';
import { createLitePool, type LitePool } from '../../node/lite-pool.ts';

const holdV2 = shelf === null ? () => undefined : specSchemas('v2');
const holdV3 = shelf === null ? () => undefined : specSchemas('v3');

const FIRST = 4;
const NOBODY = `0:${'7'.repeat(64)}`;

let devnet: ServedDevnet;
let pool: LitePool;
let chain: MemoryChain;
let server: ApiServer;
let alone: ApiServer;
let client: TonClient;

beforeAll(async () => {
  devnet = await serveDevnet();
  pool = createLitePool(parseGlobalConfig(JSON.parse(devnet.server.globalConfig)), { logger: silent });
  const shown = devnet.steps.slice(FIRST - 1, -2);
  chain = createMemoryChain(
    shown.flatMap(({ mc, shards }) => [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno }))),
  );
  const masterBlock = async (seqno: number) => shown.find(({ mc }) => mc.seqno === seqno)?.mc.bytes ?? null;
  server = await serveApi(chain.source, { liteservers: pool, masterBlock });
  alone = await serveApi(chain.source, { masterBlock });
  client = new TonClient({ endpoint: `${server.url}/api/v2/jsonRPC` });
});
afterAll(async () => {
  await Promise.all([server.close(), alone.close()]);
  await pool.close();
  await devnet.close();
});

const answered = z.looseObject({ ok: z.boolean(), result: z.any().optional(), error: z.string().optional() });

async function ask(path: string, parameters: object = {}, url = server.url) {
  const response = await fetch(`${url}/api/v2/${path}`, { method: 'POST', body: JSON.stringify(parameters) });
  const { ok, result, error } = answered.parse(await response.json());
  return { status: response.status, ok, result, error };
}

/** The same by GET, POST and name, in the form of the contract. */
async function result(name: string, parameters: Record<string, string | number>, schema?: string) {
  const query = new URLSearchParams(
    Object.entries(parameters).map(([key, value]): [string, string] => [key, String(value)]),
  );
  const got = answered.parse(await (await fetch(`${server.url}/api/v2/${name}?${query}`)).json());
  const posted = await ask(name, parameters);
  expect(posted, posted.error).toMatchObject({ status: 200, ok: true });
  const named = await ask('jsonRPC', { id: 1, jsonrpc: '2.0', method: name, params: parameters });
  expect(got.result).toEqual(posted.result);
  expect(named.result).toEqual(posted.result);
  if (schema !== undefined) holdV2(schema, posted.result);
  return posted.result;
}

it('tells how its liteservers do', async () => {
  // What only a liteserver knows: it is connected then.
  expect((await ask('getAddressInformation', { address: NOBODY })).status).toBe(200);
  const workers = await result('getWorkerState', {});
  expect(workers).toEqual({
    0: {
      ls_index: 0,
      ip: 0x7f000001,
      port: expect.any(Number),
      is_working: true,
      is_enabled: true,
      last_block: devnet.chain.head().mc.seqno,
      tasks_count: expect.any(Number),
    },
  });
  expect(await ask('getWorkerState', {}, alone.url)).toMatchObject({
    status: 542,
    error: expect.stringContaining('--network'),
  });
});

const head = () => devnet.steps.length - 2;
const wallet = (i: number): string => devnet.wallets[i].address.toRawString();
const master = (seqno: number) => devnet.steps[seqno - 1].mc;
const catchainOf = (seqno: number): number => decodeHeader(openBoc(master(seqno).bytes)).catchainSeqno;

/** Read from the data of the wallet's account as @ton/core decodes it. */
async function keptBy(i: number) {
  const { data } = await client.getContractState(devnet.wallets[i].address);
  if (data === null) throw new Error('a wallet has data');
  const slice = Cell.fromBoc(data)[0].beginParse();
  const wallet_type = ['wallet v3 r2', 'wallet v4 r2', 'wallet v5 r1'][i % 3];
  const flag = wallet_type === 'wallet v5 r1' ? { is_signature_allowed: slice.loadBit() } : {};
  return { wallet_type, seqno: slice.loadUint(32), wallet_id: slice.loadInt(32), ...flag };
}

const counted = ({ seqno, wallet_id }: { seqno: number; wallet_id: number }) => ({ seqno, wallet_id });

describe('accounts', () => {
  it('are shown as the client reads them', async () => {
    for (const { address } of devnet.wallets) {
      const state = await client.getContractState(address);
      expect(state.state).toBe('active');
      expect(state.blockId.seqno).toBe(head());
      expect(await client.getBalance(address)).toBe(state.balance);
      expect(state.balance).toBeGreaterThan(COIN);
      expect(state.code === null || state.data === null).toBe(false);
    }
    const nobody = await client.getContractState(Address.parse(NOBODY));
    expect(nobody).toMatchObject({ state: 'uninitialized', balance: 0n, lastTransaction: null, code: null });
  });

  it('are shown as of any step', async () => {
    const balances = new Set<string>();
    for (const seqno of [1, FIRST, 8, head()]) {
      const parameters = { address: wallet(4), seqno };
      const info = await result('getAddressInformation', parameters, 'AddressInformationResult');
      expect(info.block_id.seqno).toBe(seqno);
      expect(await result('getAddressBalance', parameters, 'AddressBalanceResult')).toBe(info.balance);
      expect(await result('getAddressState', parameters, 'AddressStateResult')).toBe('active');
      balances.add(info.balance);
    }
    expect(balances.size).toBeGreaterThan(1);
    const newest = await result('getAddressInformation', { address: wallet(4) });
    expect(newest).toEqual(await result('getAddressInformation', { address: wallet(4), seqno: head() }));
  });

  it('tell what wallets keep, as the wallets themselves do', async () => {
    for (const [i, one] of devnet.wallets.entries()) {
      const expected = await keptBy(i);
      const extended = await result(
        'getExtendedAddressInformation',
        { address: wallet(i) },
        'ExtendedAddressInformationResult',
      );
      const info = await result('getWalletInformation', { address: wallet(i) }, 'WalletInformationResult');
      expect(extended.address.account_address).toBe(one.address.toString());
      expect(info).toMatchObject({ wallet: true, account_state: 'active', ...expected });
      const kinds: Record<string, object> = {
        'wallet v3 r2': { account_state: { '@type': 'wallet.v3.accountState', ...counted(expected) }, revision: 2 },
        'wallet v4 r2': { account_state: { '@type': 'wallet.v4.accountState', ...counted(expected) }, revision: 2 },
        'wallet v5 r1': { account_state: { '@type': 'raw.accountState' }, revision: 0 },
      };
      expect(extended).toMatchObject(kinds[expected.wallet_type]);
    }
    const plain = devnet.wallets[3].address.toString({ bounceable: false, testOnly: true });
    expect(await result('getExtendedAddressInformation', { address: plain })).toMatchObject({
      address: { account_address: plain },
    });
    const nobody = await result(
      'getExtendedAddressInformation',
      { address: NOBODY },
      'ExtendedAddressInformationResult',
    );
    const uninited = { '@type': 'uninited.accountState', frozen_hash: '' };
    expect(nobody).toMatchObject({ balance: '-1', account_state: uninited, revision: 0 });
    const elector = await result(
      'getWalletInformation',
      { address: `-1:${'3'.repeat(64)}` },
      'WalletInformationResult',
    );
    expect(elector.wallet).toBe(false);
    expect(elector).not.toHaveProperty('wallet_type');
  });

  it('have a cell of their own in the state of their shard', async () => {
    for (const parameters of [
      { address: wallet(3) },
      { address: wallet(3), seqno: 6 },
      { address: wallet(0), seqno: 2 },
    ]) {
      const { bytes } = await result('getShardAccountCell', parameters, 'ShardAccountCellResult');
      const { lastTransactionHash, lastTransactionLt, account } = loadShardAccount(Cell.fromBase64(bytes).beginParse());
      const info = await result('getAddressInformation', parameters);
      expect(account?.addr.toString()).toBe(Address.parse(parameters.address).toString());
      expect(account?.storage.balance.coins.toString()).toBe(info.balance);
      const hash = Buffer.from(info.last_transaction_id.hash, 'base64');
      expect(lastTransactionHash).toBe(BigInt(`0x${hash.toString('hex')}`));
      expect(lastTransactionLt.toString()).toBe(info.last_transaction_id.lt);
    }
    const { bytes } = await result('getShardAccountCell', { address: NOBODY }, 'ShardAccountCellResult');
    expect(loadShardAccount(Cell.fromBase64(bytes).beginParse()).account ?? null).toBeNull();
  });

  it('that do not exist have nothing', async () => {
    expect(await result('getAddressInformation', { address: NOBODY }, 'AddressInformationResult')).toMatchObject({
      balance: '0',
      state: 'uninitialized',
      code: '',
      data: '',
      frozen_hash: '',
      last_transaction_id: { lt: '0', hash: Buffer.alloc(32).toString('base64') },
    });
    expect(await result('getAddressBalance', { address: NOBODY })).toBe('0');
  });

  it.each<[object, number, string]>([
    [{}, 422, 'failed to parse post request: address required'],
    [{ address: NOBODY, seqno: 0 }, 422, 'failed to validate request: seqno should be positive'],
    [{ address: NOBODY, seqno: 13 }, 500, 'LITE_SERVER_NOTREADY: ltdb: block not found'],
    [{ address: NOBODY, seqno: 999_999 }, 500, 'LITE_SERVER_NOTREADY: ltdb: block not found'],
  ])('are refused for %j', async (parameters, status, error) => {
    expect(await ask('getAddressInformation', parameters)).toMatchObject({ status, ok: false, error });
  });
});

describe('the chain', () => {
  it('has the newest step as its head', async () => {
    const info = await result('getMasterchainInfo', {}, 'MasterchainInfoResult');
    expect(info.last).toMatchObject({ seqno: head(), root_hash: master(head()).rootHash.toString('base64') });
    expect(info.state_root_hash).toBe(devnet.chain.state(master(head()))?.hash().toString('base64'));
    const { rootHash, fileHash } = devnet.chain.zeroState.mc;
    expect(info.init).toMatchObject({ workchain: -1, shard: '0', seqno: 0, root_hash: rootHash.toString('base64') });
    expect(info.init.file_hash).toBe(fileHash.toString('base64'));
    expect(await client.getMasterchainInfo()).toMatchObject({ latestSeqno: head() });
    // It carries the second of the answer, and is asked three times.
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      const consensus = await result('getConsensusBlock', {}, 'ConsensusBlockResult');
      const timestamp = Math.floor(Date.now() / 1000);
      expect(consensus).toEqual({ '@type': 'ext.blocks.consensusBlock', consensus_block: head(), timestamp });
    } finally {
      vi.useRealTimers();
    }
  });

  it('shows its configuration', async () => {
    const state = devnet.chain.state(master(head()));
    if (state === null) throw new Error('the devnet keeps all states');
    const root = configurationOf(state, () => undefined)
      .hash()
      .toString('hex');
    const all = await result('getConfigAll', {}, 'ConfigInfoResult');
    const cell = Cell.fromBase64(all.config.bytes);
    expect(cell.hash().toString('hex')).toBe(root);
    const gas = await result('getConfigParam', { config_id: 21 }, 'ConfigInfoResult');
    expect(await result('getConfigParam', { param: 21, seqno: 2 })).toEqual(gas);
    expect(Cell.fromBase64(gas.config.bytes).beginParse().loadUint(8)).toBe(0xd1);
    const unset = await result('getConfigParam', { param: 77_777 }, 'ConfigInfoResult');
    expect(unset.config.bytes).toBe('');
    const both = await ask('getConfigParam', { param: 1, config_id: 2 });
    const error = 'failed to validate request: only one of config_id or param should be specified';
    expect(both).toMatchObject({ status: 422, error });
    const asked = await fetch(`${server.url}/api/v2/getConfigParam?param=1&config_id=21`);
    expect(answered.parse(await asked.json()).result).toEqual(gas);
  });

  it('has no libraries that nobody has published', async () => {
    const none = { '@type': 'smc.libraryResult', result: [] };
    expect(await result('getLibraries', { libraries: '11'.repeat(32) }, 'LibrariesResult')).toEqual(none);
    expect(await result('getLibraries', {}, 'LibrariesResult')).toEqual(none);
    const many = Array.from({ length: 17 }, (_, i) => Buffer.alloc(32, i).toString('hex'));
    const refused = await ask('getLibraries', { libraries: many });
    expect(refused).toMatchObject({ status: 500, error: expect.stringContaining('16 maximum') });
    expect(await ask('getLibraries', { libraries: [1] })).toMatchObject({ status: 422 });
  });
});

describe('blocks', () => {
  const place = ({ workchain, shard, seqno }: { workchain: number; shard: string; seqno: number }) => ({
    workchain,
    shard: BigInt.asIntN(64, BigInt(`0x${shard}`)).toString(),
    seqno,
  });

  it('are signed by validators of the devnet', async () => {
    for (const seqno of [1, 2, 7, head()]) {
      const signed = await result('getMasterchainBlockSignatures', { seqno }, 'MasterchainBlockSignaturesResult');
      expect(signed).toMatchObject({ '@type': 'blocks.blockSignatures', id: { seqno } });
      const set = devnet.chain.validators.sign(master(seqno), catchainOf(seqno), 'ordinary');
      expect(signed.signatures.map(({ signature }: { signature: string }) => signature)).toEqual(
        set.signatures.map(({ signature }) => signature.toString('base64')),
      );
    }
    expect(await ask('getMasterchainBlockSignatures', { seqno: 0 })).toMatchObject({ status: 422 });
    expect(await ask('getMasterchainBlockSignatures', { seqno: 13 })).toMatchObject({ status: 500 });
  });

  it('are proven from a masterchain block that is trusted', async () => {
    // From before the index, of a split chain, and newest.
    for (const step of [2, 8, head()]) {
      for (const block of [...devnet.steps[step - 1].shards, master(step)]) {
        const proof = await result('getShardBlockProof', place(block), 'ShardBlockProofResult');
        expect(proof).toMatchObject({ from: { seqno: head() }, mc_id: { seqno: step } });
        const at = proof.links.at(-1)?.id ?? proof.mc_id;
        expect(at.root_hash).toBe(block.rootHash.toString('base64'));
        expect(proof.mc_proof).toHaveLength(step === head() ? 0 : 1);
        for (const { proof: boc } of proof.links) expect(Cell.fromBase64(boc).isExotic).toBe(true);
      }
    }
    const early = { ...place(devnet.steps[8].shards[0]), from_seqno: 3 };
    expect(await ask('getShardBlockProof', early)).toMatchObject({ status: 500, error: 'from mc block is too old' });
    const own = { ...place(devnet.steps[7].shards[0]), from_seqno: 8 };
    expect(await result('getShardBlockProof', own)).toMatchObject({ from: { seqno: 8 }, mc_proof: [] });
    const missing = { ...place(master(1)), workchain: 0, seqno: 9999 };
    expect(await ask('getShardBlockProof', missing)).toMatchObject({
      status: 500,
      error: expect.stringContaining('LITE_SERVER_NOTREADY'),
    });
  });

  it('say how long their queues are', async () => {
    const sizes = await result('getOutMsgQueueSizes', {}, 'OutMsgQueueSizesResult');
    expect(await result('getOutMsgQueueSize', {})).toEqual(sizes);
    const tops = [master(head()), ...(devnet.chain.shards(head()) ?? [])];
    const ids = sizes.shards.map(({ id }: { id: { root_hash: string } }) => id.root_hash);
    expect(ids).toEqual(tops.map(({ rootHash }) => rootHash.toString('base64')));
    expect(sizes.ext_msg_queue_size_limit).toBe(8000);
  });
});

it('is in health for clients of v2', async () => {
  const response = await fetch(`${server.url}/api/v2/healthcheck`);
  expect([response.status, await response.json()]).toEqual([200, 'OK']);
  expect((await fetch(`${server.url}/api/v2/healthcheck`, { method: 'POST' })).status).toBe(405);
});

describe('v3', () => {
  async function v3(path: string, url = server.url) {
    const response = await fetch(`${url}/api/v3/${path}`);
    return { status: response.status, body: z.looseObject({}).parse(await response.json()) };
  }
  it('shows the newest state of an account and of a wallet', async () => {
    for (const [i] of devnet.wallets.entries()) {
      const info = await result('getAddressInformation', { address: wallet(i) });
      const { wallet_type, seqno, wallet_id } = await keptBy(i);
      for (const asV2 of ['', '&use_v2=true']) {
        const { body } = await v3(`addressInformation?address=${wallet(i)}${asV2}`);
        holdV3('V2AddressInformation', body);
        const { balance, code, data, last_transaction_id } = info;
        const last = { last_transaction_lt: last_transaction_id.lt, last_transaction_hash: last_transaction_id.hash };
        expect(body).toEqual({ balance, code, data, ...last, frozen_hash: null, status: 'active' });
        const held = await v3(`walletInformation?address=${wallet(i)}${asV2}`);
        holdV3('V2WalletInformation', held.body);
        const numbers = { wallet_type, seqno, wallet_id: wallet_id >>> 0 };
        expect(held.body).toEqual({ balance, ...numbers, ...last, status: 'active' });
      }
    }
  });

  it('knows what is no wallet, and what is not there', async () => {
    const elector = `-1:${'3'.repeat(64)}`;
    for (const path of [`walletInformation?address=${elector}`, `walletInformation?use_v2=1&address=${elector}`]) {
      expect(await v3(path)).toEqual({ status: 409, body: { error: 'not a wallet' } });
    }
    const nothing = {
      balance: '0',
      last_transaction_lt: '0',
      last_transaction_hash: Buffer.alloc(32).toString('base64'),
      status: 'uninit',
    };
    for (const url of [server.url, alone.url]) {
      const info = await v3(`addressInformation?address=${NOBODY}`, url);
      expect(info.body).toEqual({ ...nothing, code: null, data: null, frozen_hash: null });
      expect((await v3(`walletInformation?address=${NOBODY}`, url)).body).toEqual(nothing);
    }
    const asked = await v3(`addressInformation?use_v2=true&address=${NOBODY}`, alone.url);
    expect(asked).toMatchObject({ status: 500, body: { error: expect.stringContaining('is not specified') } });
    for (const path of ['addressInformation', 'walletInformation']) {
      expect(await v3(path)).toEqual({ status: 401, body: { error: 'address of account is required' } });
    }
  });

  it('lists the states of wallets in the order asked for', async () => {
    const order = [5, 2, 3, 4].map(wallet);
    const { body } = await v3(`walletStates?address=${[...order, NOBODY].join(',')}`);
    holdV3('WalletStatesResponse', body);
    const rows = z.array(z.looseObject({ address: z.string(), is_wallet: z.boolean() })).parse(body.wallets);
    expect(rows.map(({ address }) => address)).toEqual(order.map((address) => address.toUpperCase()));
    expect(rows.every(({ is_wallet }) => is_wallet)).toBe(true);
    expect(rows.some((row) => 'extra_currencies' in row)).toBe(false);
    expect(await v3('walletStates')).toMatchObject({ status: 422, body: { error: 'address of account is required' } });
  });
});

describe('without a network', () => {
  it('answers what it knows', async () => {
    const info = await ask('getMasterchainInfo', {}, alone.url);
    // Block 1 would name the zero state.
    expect(info).toMatchObject({ status: 542, error: expect.stringContaining('no workers available') });
    const consensus = await ask('getConsensusBlock', {}, alone.url);
    expect(consensus.result.consensus_block).toBe(head());
    const balances = await Promise.all(
      devnet.wallets.map((_, i) => ask('getAddressBalance', { address: wallet(i) }, alone.url)),
    );
    expect(balances.filter(({ ok }) => ok).length).toBeGreaterThan(5);
    const unknown = await ask('getAddressInformation', { address: NOBODY }, alone.url);
    expect(unknown).toMatchObject({ status: 542, error: expect.stringContaining('--network') });
  });
});
