/** Tokens and names over a devnet, whose liteserver has what the index does not show. */
import { Address, beginCell, type Cell as CoreCell, Dictionary } from '@ton/core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { silent } from '../../../clickhouse/test-server.ts';
import { type ApiServer, PATIENT_LIMITS, serveApi } from '../../../test/api-server.ts';
import { COIN, type ServedDevnet, serveDevnet } from '../../../test/devnet-served.ts';
import { createTestWallet } from '../../../test/devnet-wallets.ts';
import { createMemoryChain } from '../../../test/memory-source.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { Builder, type Cell, parseBoc } from '../../chain/builder.ts';
import { bareText, onChainContent } from '../../devnet/contracts/content.ts';
import * as jettons from '../../devnet/contracts/jettons.ts';
import * as nfts from '../../devnet/contracts/nfts.ts';
import { parseGlobalConfig } from '../../node/global-config.ts';
import { createLitePool, type LitePool } from '../../node/lite-pool.ts';
import { codes } from '../../tvm/test-contracts.ts';
import { categoryOf } from './dns-records.ts';

const owner = createTestWallet(4).address;
const tokenContent = onChainContent({ name: 'Testcoin', symbol: 'TST', decimals: '6' });
const master = jettons.jettonMasterAddress(owner, tokenContent);
const jettonWallet = jettons.jettonWalletAddress(owner, master);
const collectionContent = beginCell().storeUint(1, 8).storeStringTail('https://ton.example/collection.json').endCell();
const collectionState = {
  owner,
  content: collectionContent,
  commonContent: bareText('https://ton.example/'),
  royalty: { numerator: 1, denominator: 100, destination: owner },
};
const collection = nfts.nftCollectionAddress(collectionState);
const item = nfts.nftItemAddress(2n, collection);

/** A wallet and an item that say they belong to what does not know them. */
const liar = new Address(0, Buffer.alloc(32, 0x11));
const liarItem = new Address(0, Buffer.alloc(32, 0x12));

const asm = (hex: string, ...refs: Cell[]): Cell =>
  refs.reduce((builder, ref) => builder.ref(ref), new Builder().bytes(Buffer.from(hex, 'hex'))).cell();
const core = (cell: CoreCell): Cell => parseBoc(cell.toBoc());
const record = (tag: number, to: Address): CoreCell =>
  beginCell().storeUint(tag, 16).storeAddress(to).storeUint(0, 8).endCell();
const records = Dictionary.empty(Dictionary.Keys.Buffer(32), Dictionary.Values.Cell())
  .set(categoryOf('wallet'), record(0x9fd3, owner))
  .set(categoryOf('site'), beginCell().storeUint(0xad01, 16).storeBuffer(Buffer.alloc(32, 7)).storeUint(0, 8).endCell())
  .set(
    categoryOf('note'),
    beginCell().storeUint(0x1eda, 16).storeUint(1, 8).storeUint(2, 8).storeStringTail('hi').endCell(),
  );
const resolver = new Address(0, Buffer.alloc(32, 0x13));
const next = new Address(0, Buffer.alloc(32, 0x14));
/** Knows all records of whatever it is asked: `2DROP, DROP`, the bits of `\0alice\0`, `PUSHREF`. */
const knowsAll = asm('ff005b30' + '8038' + '88', core(beginCell().storeDictDirect(records).endCell()));
/** Knows the first three bytes, and who knows more: `PUSHINT 24`. */
const knowsNext = asm('ff005b30' + '8018' + '88', core(record(0xba93, next)));
/** Answers as a master: `PUSHINT 7, PUSHINT 1`, the given way to push its owner, and `PUSHREF` twice. */
const likeMaster = (admin: string, end = ''): Cell => {
  const refs = [core(bareText('\x01x')), new Builder().cell()];
  const asCell = core(beginCell().storeAddress(owner).endCell());
  return asm(`ff00307771${admin}8888${end}`, ...(admin === '88' ? [asCell] : []), ...refs);
};

let devnet: ServedDevnet;
let pool: LitePool;
let server: ApiServer;
let hold: ReturnType<typeof specSchemas>;

beforeAll(async () => {
  hold = specSchemas('v2');
  const account = (address: Address, code: Cell, data: CoreCell) => ({
    workchain: 0,
    hash: address.hash,
    balance: COIN,
    code,
    data: core(data),
  });
  const none = beginCell().endCell();
  const wallets = Array.from({ length: 12 }, (_, i) => createTestWallet(i, i < 2 ? -1 : 0));
  const walletData = jettons.jettonWalletData({ balance: 500n, owner, master });
  const itemData = nfts.nftItemData({ index: 2n, collection, owner, content: bareText('item-2.json') });
  const genesis = [
    ...wallets.map((wallet) => wallet.genesis(10_000_000n * COIN)),
    account(
      master,
      core(jettons.jettonMasterCode),
      jettons.jettonMasterData({ totalSupply: 10n ** 20n, admin: owner, content: tokenContent }),
    ),
    account(jettonWallet, core(jettons.jettonWalletCode), walletData),
    account(liar, core(jettons.jettonWalletCode), walletData),
    account(collection, core(nfts.nftCollectionCode), nfts.nftCollectionData({ ...collectionState, nextIndex: 3n })),
    account(item, core(nfts.nftItemCode), itemData),
    account(liarItem, core(nfts.nftItemCode), itemData),
    account(resolver, knowsNext, none),
    account(next, knowsAll, none),
    account(new Address(0, Buffer.alloc(32, 0x15)), codes.echo, none),
    account(new Address(0, Buffer.alloc(32, 0x17)), likeMaster('8b02'), none),
    account(new Address(0, Buffer.alloc(32, 0x18)), likeMaster('8b02', 'db31'), none),
    account(new Address(0, Buffer.alloc(32, 0x19)), likeMaster('88'), none),
  ];
  devnet = await serveDevnet({}, { genesis });
  pool = createLitePool(parseGlobalConfig(JSON.parse(devnet.server.globalConfig)), { logger: silent });
  const { source } = createMemoryChain(
    devnet.steps.flatMap(({ mc, shards }) => [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno }))),
  );
  const masterBlock = async (seqno: number) => devnet.steps[seqno - 1]?.mc.bytes ?? null;
  server = await serveApi(source, { liteservers: pool, masterBlock, limits: PATIENT_LIMITS });
});
afterAll(async () => {
  expect(server.reported).toEqual([]);
  await server.close();
  await pool.close();
  await devnet.close();
});

const answered = z.looseObject({ result: z.any().optional(), error: z.string().optional() });

async function ask(path: string, parameters: Record<string, string>) {
  const response = await fetch(`${server.url}/api/v2/${path}?${new URLSearchParams(parameters)}`);
  return { status: response.status, ...answered.parse(await response.json()) };
}

async function token(address: string, schema: string) {
  const { status, result, error } = await ask('getTokenData', { address });
  expect(status, error).toBe(200);
  hold(schema, result);
  hold('TokenDataResult', result);
  return result;
}

const friendly = (address: Address): string => address.toString();

it('tells what tokens say of themselves', async () => {
  expect(await token(friendly(master), 'JettonMasterData')).toMatchObject({
    address: friendly(master),
    contract_type: 'jetton_master',
    total_supply: '100000000000000000000',
    mintable: true,
    admin_address: friendly(owner),
    jetton_content: { type: 'onchain', data: { name: 'Testcoin', symbol: 'TST', decimals: '6' } },
  });
  const raw = jettonWallet.toRawString().replace(/[0-9a-f]{64}/, (hex) => hex.toUpperCase());
  expect(await token(raw.toLowerCase(), 'JettonWalletData')).toMatchObject({
    address: raw,
    balance: '500',
    owner: friendly(owner),
    jetton: friendly(master),
  });
  expect(await token(friendly(collection), 'NftCollectionData')).toMatchObject({
    next_item_index: '3',
    owner_address: friendly(owner),
    collection_content: { type: 'offchain', data: 'https://ton.example/collection.json' },
  });
  // Not bounceable: the same contract all the same.
  const spelled = item.toString({ bounceable: false });
  expect(await token(spelled, 'NftItemData')).toMatchObject({
    address: spelled,
    init: true,
    index: '2',
    collection_address: friendly(collection),
    owner_address: friendly(owner),
    content: { type: 'offchain', data: 'https://ton.example/item-2.json' },
  });
});

it('takes nothing of a method that ends by another exit code than 0', async () => {
  const [whole, alternate] = [0x17, 0x18].map((byte) => friendly(new Address(0, Buffer.alloc(32, byte))));
  expect(await token(whole, 'JettonMasterData')).toMatchObject({ total_supply: '7', mintable: true });
  expect(await ask('getTokenData', { address: alternate })).toMatchObject({ status: 409 });
});

it('takes an address also where a cell holds it', async () => {
  const address = friendly(new Address(0, Buffer.alloc(32, 0x19)));
  expect(await token(address, 'JettonMasterData')).toMatchObject({ admin_address: friendly(owner) });
});

it.each([
  ['a wallet that its master does not know', liar],
  ['an item that its collection does not know', liarItem],
  ['another contract', owner],
  ['one that answers every method with nothing', new Address(0, Buffer.alloc(32, 0x15))],
  ['nobody', new Address(0, Buffer.alloc(32, 0x16))],
])('refuses %s', async (_, address) => {
  expect(await ask('getTokenData', { address: friendly(address) })).toMatchObject({
    status: 409,
    error: `Smart contract ${friendly(address)} is not Jetton or NFT`,
  });
});

it('resolves names, as far as it may', async () => {
  const asked = { address: friendly(resolver), name: 'alice.ton' };
  const first = await ask('dnsResolve', asked);
  expect(first.status, first.error).toBe(200);
  hold('DnsResolveResult', first.result);
  expect(first.result.entries).toEqual([
    {
      '@type': 'dns.entry',
      name: 'ton',
      category: categoryOf('dns_next_resolver').toString('base64'),
      entry: {
        '@type': 'dns.entryDataNextResolver',
        resolver: { '@type': 'accountAddress', account_address: friendly(next) },
      },
    },
  ]);
  const whole = await ask('dnsResolve', { ...asked, name: 'bob.ton', ttl: '1' });
  expect(whole.status, whole.error).toBe(500);
  const found = await ask('dnsResolve', { ...asked, name: 'alice.ton', ttl: '1' });
  hold('DnsResolveResult', found.result);
  const byCategory = Object.fromEntries(
    found.result.entries.map((entry: { category: string; entry: object }) => [entry.category, entry.entry]),
  );
  expect(byCategory).toEqual({
    [categoryOf('wallet').toString('base64')]: {
      '@type': 'dns.entryDataSmcAddress',
      smc_address: { '@type': 'accountAddress', account_address: friendly(owner) },
    },
    [categoryOf('site').toString('base64')]: {
      '@type': 'dns.entryDataAdnlAddress',
      adnl_address: { '@type': 'adnlAddress', adnl_address: expect.stringMatching(/^[a-z2-7]{55}$/) },
    },
    [categoryOf('note').toString('base64')]: { '@type': 'dns.entryDataText', text: 'hi' },
  });
  for (const name of ['a..ton', `${'x'.repeat(130)}.ton`]) {
    expect(await ask('dnsResolve', { ...asked, name })).toMatchObject({
      status: 422,
      error: expect.stringContaining('name'),
    });
  }
  expect((await ask('dnsResolve', { address: friendly(owner), name: 'x' })).status).toBe(500);
});
