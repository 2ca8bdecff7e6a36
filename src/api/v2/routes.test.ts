import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { Address, Cell, loadTransaction } from '@ton/core';
import { TonClient } from '@ton/ton';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { createMemoryChain, type MemoryChain } from '../../../test/memory-source.ts';
import { privateBlocks, shelf } from '../../../test/shelf.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { rawAddress } from '../../chain/address.ts';
import { openBoc } from '../../chain/boc.ts';
import { compareDecimal } from '../../chain/decimal.ts';
import { decodeHeader } from '../../chain/header.ts';
import type { TransactionRecord } from '../../chain/records.ts';
import { createRenderings } from './render/renderings.ts';
import { extTransaction } from './render/transaction.ts';
import { v2Routes } from './routes.ts';

const line = z.object({ mc_seqno: z.number().nullable(), boc: z.string() });

/** A recorded private network, answered from memory. */
function recordedChain(): MemoryChain {
  const lines = gunzipSync(readFileSync(privateBlocks())).toString().trim().split('\n');
  return createMemoryChain(
    lines.map((text) => {
      const { boc, mc_seqno: mcSeqno } = line.parse(JSON.parse(text));
      const bytes = Buffer.from(boc, 'base64');
      return { bytes, mcSeqno: mcSeqno ?? decodeHeader(openBoc(bytes)).seqno };
    }),
  );
}

describe.skipIf(shelf === null)('over a recorded network', () => {
  let server: ApiServer;
  let recorded: MemoryChain;
  let client: TonClient;
  let hold: ReturnType<typeof specSchemas>;

  beforeAll(async () => {
    recorded = recordedChain();
    server = await serveApi(recorded.source, { testnet: () => true });
    client = new TonClient({ endpoint: `${server.url}/api/v2/jsonRPC` });
    hold = specSchemas('v2');
  });
  afterAll(() => server.close());

  async function ask(path: string, body?: object) {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${server.url}/api/v2/${path}`, init);
    const answer = z
      .looseObject({ ok: z.boolean(), result: z.any().optional(), error: z.any().optional() })
      .parse(await response.json());
    return { status: response.status, ...answer };
  }
  const query = (parameters: Record<string, string | number>): string =>
    new URLSearchParams(
      Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]),
    ).toString();
  const shardText = (shard: string): string => BigInt.asIntN(64, BigInt(`0x${shard}`)).toString();

  /** The account with most transactions, oldest first. */
  function busiest(): TransactionRecord[] {
    const by = new Map<string, TransactionRecord[]>();
    for (const row of recorded.transactions) {
      const key = rawAddress(row.transaction.account);
      by.set(key, [...(by.get(key) ?? []), row]);
    }
    return [...by.values()].sort((a, b) => b.length - a.length)[0];
  }

  it('pages through the history of an account as the client does, to its first transaction', async () => {
    const rows = busiest();
    const account = rows[0].transaction.account;
    const seen: string[] = [];
    let from: { lt: string; hash: string } | undefined;
    for (;;) {
      const page = await client.getTransactions(Address.parse(rawAddress(account)), { limit: 7, ...from });
      seen.push(...page.map((transaction) => transaction.hash().toString('hex')));
      const last = page.at(-1);
      if (last === undefined || page.length < 7) break;
      from = { lt: last.lt.toString(), hash: last.hash().toString('base64') };
    }
    const expected = [...rows].sort((a, b) => compareDecimal(b.transaction.lt, a.transaction.lt));
    expect(seen).toEqual(expected.map(({ transaction }) => transaction.hash.toString('hex')));
  });

  it('answers transactions by GET, POST and name alike, in the form of the contract', async () => {
    const history = busiest().sort((a, b) => compareDecimal(b.transaction.lt, a.transaction.lt));
    const address = rawAddress(history[0].transaction.account);
    const parameters = { address, limit: 1000 };
    const got = await ask(`getTransactions?${query(parameters)}`);
    expect(got.status).toBe(200);
    hold('TransactionsResult', got.result);
    expect((await ask('getTransactions', parameters)).result).toEqual(got.result);
    const named = await ask('jsonRPC', { id: '1', jsonrpc: '2.0', method: 'getTransactions', params: parameters });
    expect(named.result).toEqual(got.result);
    for (const item of got.result) {
      const decoded = loadTransaction(Cell.fromBase64(item.data).beginParse());
      expect(decoded.hash().toString('base64')).toBe(item.transaction_id.hash);
      expect(item.account).toBe(address);
      expect(BigInt(item.fee)).toBeGreaterThanOrEqual(decoded.totalFees.coins);
      expect(BigInt(item.storage_fee) + BigInt(item.other_fee)).toBe(BigInt(item.fee));
      expect(item.out_msgs).toHaveLength(decoded.outMessagesCount);
      expect(item.in_msg === undefined).toBe(decoded.inMessage == null);
    }
    // The recording leaves out some of the history: a page ends where the one before is there.
    const whole = history.findIndex(({ transaction }, i) => transaction.prevLt === history[i + 1]?.transaction.lt);
    expect(whole).toBeGreaterThanOrEqual(0);
    const std = await ask(`getTransactionsStd?${query({ ...parameters, limit: whole + 1 })}`);
    hold('TransactionsStdResult', std.result);
    const next = std.result.previous_transaction_id;
    const rest = await ask(`getTransactionsStd?${query({ ...parameters, lt: next.lt, hash: next.hash })}`);
    const ids = (items: { transaction_id: unknown }[]) => items.map((item) => item.transaction_id);
    expect([...ids(std.result.transactions), ...ids(rest.result.transactions)]).toEqual(ids(got.result));
    const middle = got.result[1].transaction_id.lt;
    const newer = await ask('getTransactions', { address, limit: 1000, to_lt: middle });
    expect(newer.result).toEqual(got.result.slice(0, 1));
  });

  it('keeps what was shown for as long as it is the same', () => {
    const { transaction: _decoded, ...shown } = recorded.transactions[0];
    const kept = createRenderings(1_000_000);
    const json = kept.transaction(recorded.transactions[0]);
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(extTransaction(recorded.transactions[0]))));
    // It is not decoded again, unless something of it is another.
    const undecoded = (more: object = {}): TransactionRecord => ({
      ...shown,
      ...more,
      get transaction(): never {
        throw new Error('decoded');
      },
    });
    expect(kept.transaction(undecoded())).toBe(json);
    const { stored } = shown;
    if (stored === undefined) throw new Error('a transaction without its bytes');
    const payload = Buffer.from(stored.payload);
    payload[payload.length - 1] ^= 1;
    for (const other of [{ globalVersion: shown.globalVersion + 1 }, { stored: { ...stored, payload } }]) {
      expect(() => kept.transaction(undecoded(other))).toThrow('decoded');
    }
    expect(kept.bytes).toBeGreaterThan(stored.payload.length + json.length);
  });

  it('finds the transactions at both ends of a message', async () => {
    const pairs = recorded.transactions.flatMap((row) => {
      const [out] = row.transaction.outMsgs.filter(({ kind }) => kind === 'internal');
      const receiver = recorded.transactions.find(({ transaction }) =>
        transaction.inMsg?.hash.equals(out?.hash ?? Buffer.alloc(0)),
      );
      return out === undefined || receiver === undefined ? [] : [{ sender: row, out, receiver }];
    });
    expect(pairs.length).toBeGreaterThan(3);
    for (const { sender, out, receiver } of pairs.slice(0, 5)) {
      if (out.source === null || out.destination === null) throw new Error('an internal message has both ends');
      const parameters = {
        source: rawAddress(out.source),
        destination: rawAddress(out.destination),
        created_lt: out.createdLt,
      };
      for (const [method, end] of [
        ['tryLocateTx', receiver],
        ['tryLocateResultTx', receiver],
        ['tryLocateSourceTx', sender],
      ] as const) {
        const { result } = await ask(method, parameters);
        hold('TryLocateTxResult', result);
        expect(result.transaction_id.hash).toBe(end.transaction.hash.toString('base64'));
      }
      const lost = await ask('tryLocateTx', { ...parameters, created_lt: '1' });
      expect(lost).toMatchObject({ status: 404, error: 'transaction was not found' });
    }
  });

  it('shows headers, shards and the transactions of every block', async () => {
    const busy = recorded.blocks.filter(({ txCount }) => txCount > 2).slice(0, 8);
    expect(busy.length).toBeGreaterThan(2);
    for (const { header, txCount } of busy) {
      const place = { workchain: header.workchain, shard: shardText(header.shard), seqno: header.seqno };
      const shown = await ask(`getBlockHeader?${query(place)}`);
      hold('BlockHeaderResult', shown.result);
      expect(shown.result.id.root_hash).toBe(header.rootHash.toString('base64'));
      const all = await ask(`getBlockTransactions?${query({ ...place, count: 1000 })}`);
      hold('BlockTransactionsResult', all.result);
      expect(all.result).toMatchObject({ req_count: 1000, incomplete: false });
      expect(all.result.transactions).toHaveLength(txCount);
      const seen: unknown[] = [];
      let after = {};
      for (let more = true; more; ) {
        const page = await ask('getBlockTransactionsExt', { ...place, count: 2, ...after });
        hold('BlockTransactionsExtResult', page.result);
        more = page.result.incomplete;
        for (const item of page.result.transactions) seen.push([item.account.toLowerCase(), item.transaction_id.hash]);
        const last = page.result.transactions.at(-1);
        after = { after_lt: last.transaction_id.lt, after_hash: last.account.split(':')[1] };
      }
      expect(seen).toEqual(
        all.result.transactions.map((item: { account: string; hash: string }) => [item.account, item.hash]),
      );
    }
  });

  it('takes part of a shard for the block that holds it, unless both hashes name one', async () => {
    const [{ header }] = recorded.blocks.filter(({ header: { workchain }, txCount }) => workchain === 0 && txCount > 1);
    const { seqno } = header;
    const hashes = { root_hash: header.rootHash.toString('base64'), file_hash: header.fileHash.toString('hex') };
    const whole = { workchain: 0, shard: shardText(header.shard), seqno };
    const part = { ...whole, shard: shardText('0123456789abcdf1') };
    for (const method of ['getBlockHeader', 'getBlockTransactions', 'getBlockTransactionsExt']) {
      const { status, result, error } = await ask(method, whole);
      expect([status, result.id.seqno], error).toEqual([200, seqno]);
      expect(await ask(method, { ...whole, ...hashes })).toMatchObject({ status: 200, result });
      for (const more of [{}, { root_hash: hashes.root_hash }]) {
        expect(await ask(method, { ...part, ...more })).toMatchObject({ status: 200, result });
      }
      const other = Buffer.alloc(32, 1).toString('hex');
      for (const asked of [
        { ...part, ...hashes },
        { ...whole, ...hashes, root_hash: other },
        { ...whole, ...hashes, file_hash: other },
        { ...whole, shard: '0' },
      ]) {
        const refused = await ask(method, asked);
        expect(refused).toMatchObject({ status: 500, error: 'LITE_SERVER_NOTREADY: ltdb: block not found' });
      }
    }
  });

  it('tells the time at which it is asked for the newest block, whatever is kept', async () => {
    const keeping = await serveApi(recorded.source, { version: () => 'same', kept: { answers: 1e6, renderings: 0 } });
    const told = async () => {
      const answer = await (await fetch(`${keeping.url}/api/v2/getConsensusBlock`)).json();
      return z.object({ result: z.looseObject({ timestamp: z.int() }) }).parse(answer).result.timestamp;
    };
    const now = vi.spyOn(Date, 'now');
    try {
      for (const seconds of [1_800_000_000, 1_800_000_100]) {
        now.mockReturnValue(seconds * 1000 + 999);
        expect(await told()).toBe(seconds);
      }
    } finally {
      now.mockRestore();
      await keeping.close();
    }
  });

  it('looks blocks up by seqno, lt and time', async () => {
    const chain = recorded.blocks.filter(({ header }) => header.workchain === -1).map(({ header }) => header);
    chain.sort((a, b) => a.seqno - b.seqno);
    const [before, header] = chain.slice(5);
    const of = { workchain: -1, shard: shardText(header.shard) };
    const look = async (by: object) => {
      const { result } = await ask('lookupBlock', { ...of, ...by });
      hold('LookupBlockResult', result);
      return result.seqno;
    };
    expect(await look({ seqno: header.seqno })).toBe(header.seqno);
    for (const lt of [header.startLt, header.endLt]) expect(await look({ lt })).toBe(header.seqno);
    expect(await look({ lt: before.endLt })).toBe(before.seqno);
    expect(await look({ unixtime: header.genUtime })).toBe(
      chain.find(({ genUtime }) => genUtime >= header.genUtime)?.seqno,
    );
    const missing = await ask('lookupBlock', { ...of, seqno: 999_999_999 });
    expect(missing).toMatchObject({ status: 500, error: 'LITE_SERVER_NOTREADY: ltdb: block not found' });
    const [shardBlock] = recorded.blocks.filter(({ header: { workchain } }) => workchain === 0);
    const prefix = shardText('0123456789abcdf1');
    const child = await ask('lookupBlock', { workchain: 0, shard: prefix, seqno: shardBlock.header.seqno });
    expect(child.result).toMatchObject({ workchain: 0, seqno: shardBlock.header.seqno });
    // JavaScript writes the number -2^63 as -9223372036854776000, which has no 64 bits (spec v2, 1.3).
    for (const [workchain, { shard, seqno }] of [
      [-1, header],
      [0, shardBlock.header],
    ] as const) {
      const byNumber = await ask('lookupBlock', { workchain, shard: Number(shardText(shard)), seqno });
      expect(byNumber.result).toMatchObject({ workchain, shard: shardText(shard), seqno });
    }
    for (const name of ['shards', 'getShards']) {
      const { result } = await ask(`${name}?seqno=${header.seqno}`);
      hold('ShardsResult', result);
    }
  });

  it.each([
    ['getTransactions', {}, 'failed to parse post request: address required'],
    ['getTransactions', { address: 'x' }, 'failed to parse post request: failed to parse address'],
    [
      'getTransactions',
      { address: `0:${'0'.repeat(64)}`, limit: 0 },
      'failed to validate request: limit should be positive',
    ],
    [
      'getTransactions',
      { address: `0:${'0'.repeat(64)}`, limit: 1001 },
      'failed to validate request: limit should be less or equal 1000',
    ],
    [
      'getTransactions',
      { address: `0:${'0'.repeat(64)}`, lt: 5 },
      'failed to validate request: lt and hash should be used together',
    ],
    [
      'lookupBlock',
      { workchain: 0, shard: '1' },
      'failed to validate request: exactly one of seqno, lt, unixtime should be specified',
    ],
    [
      'lookupBlock',
      { workchain: 0, shard: '1', seqno: 1, lt: 2 },
      'failed to validate request: exactly one of seqno, lt, unixtime should be specified',
    ],
    ['lookupBlock', { shard: '1', seqno: 1 }, 'failed to parse post request: workchain required'],
    ['shards', { seqno: 0 }, 'failed to validate request: seqno should be positive'],
    [
      'getBlockTransactions',
      { workchain: 0, shard: '1', seqno: 1, count: 0 },
      'failed to validate request: count should be positive',
    ],
    [
      'getBlockTransactions',
      { workchain: 0, shard: '1', seqno: 1, after_lt: 1 },
      'failed to validate request: after_lt and after_hash should be used together',
    ],
    [
      'getBlockTransactionsExt',
      { workchain: 0, shard: '1', seqno: 1, after_lt: -1, after_hash: '0'.repeat(64) },
      'failed to validate request: after_lt should be non-negative',
    ],
    ['detectHash', { hash: '' }, 'failed to parse post request: hash required'],
    // Of these the friendly form would be that of another account.
    ...[`128:${'0'.repeat(64)}`, `-129:${'0'.repeat(64)}`].flatMap((address) =>
      ['packAddress', 'detectAddress', 'getExtendedAddressInformation'].map((method): [string, object, string] => [
        method,
        { address },
        'failed to parse post request: failed to parse address',
      ]),
    ),
    [
      'getTransactions',
      { address: `0:${'0'.repeat(64)}`, to_lt: -1 },
      'failed to validate request: to_lt should be non-negative',
    ],
  ])('refuses %s %j', async (method, parameters, error) => {
    expect(await ask(method, parameters)).toMatchObject({ status: 422, error });
  });

  it('spells addresses and hashes in every form', async () => {
    const { transaction } = recorded.transactions[0];
    const raw = rawAddress(transaction.account);
    const core = Address.parse(raw);
    // Without the test flag, though this is a test network: it is the one who asks that gives it.
    expect((await ask('packAddress', { address: raw })).result).toBe(core.toString());
    const { result: shown } = await ask('getTransactions', { address: raw, limit: 1 });
    expect(shown).toMatchObject([{ address: { account_address: core.toString() } }]);
    for (const bounceable of [true, false]) {
      for (const testOnly of [true, false]) {
        for (const urlSafe of [true, false]) {
          const given = core.toString({ bounceable, testOnly, urlSafe });
          const { result } = await ask(`detectAddress?${query({ address: given })}`);
          hold('DetectAddressResult', result);
          expect(result).toMatchObject({
            raw_form: raw.toLowerCase(),
            given_type: bounceable ? 'friendly_bounceable' : 'friendly_non_bounceable',
            test_only: testOnly,
            bounceable: { b64: core.toString({ testOnly, urlSafe: false }), b64url: core.toString({ testOnly }) },
          });
          expect((await ask('packAddress', { address: given })).result).toBe(core.toString({ bounceable, testOnly }));
          expect((await ask('unpackAddress', { address: given })).result).toBe(raw);
        }
      }
    }
    expect((await ask('detectAddress', { address: raw })).result).toMatchObject({ given_type: 'raw_form' });
    // The base64 of the second one begins as hex does elsewhere.
    for (const hash of [
      transaction.hash,
      Buffer.concat([Buffer.from('0xAA', 'base64'), transaction.hash.subarray(3)]),
    ]) {
      for (const text of [hash.toString('hex'), hash.toString('base64'), hash.toString('base64url')]) {
        const { result } = await ask(`detectHash?${query({ hash: text })}`);
        hold('DetectHashResult', result);
        expect(result).toMatchObject({ hex: hash.toString('hex'), b64: hash.toString('base64') });
      }
      expect(await ask('detectHash', { hash: `0x${hash.toString('hex')}` })).toMatchObject({ status: 422 });
    }
  });
});

it('takes requests as large as the contract says', async () => {
  const { url, close } = await serveApi(createFakeSource().source);
  const hash = '0'.repeat(64);
  const body = (path: string, bytes: number) =>
    fetch(`${url}/api/v2/${path}`, {
      method: 'POST',
      body: `{"method":"detectHash","hash":"${hash}","params":{"hash":"${hash}"}}`.padEnd(bytes),
    });
  const target = (bytes: number) => fetch(url + `/api/v2/detectHash?hash=${hash}&x=`.padEnd(bytes, 'x'));
  for (const path of ['detectHash', 'jsonRPC']) {
    expect((await body(path, 2 ** 20)).status).toBe(200);
    const large = await body(path, 2 ** 20 + 1);
    expect([large.status, await large.json()]).toMatchObject([413, { ok: false, code: 413, '@extra': '_' }]);
  }
  expect((await target(8192)).status).toBe(200);
  const long = await target(8193);
  expect([long.status, await long.json()]).toMatchObject([414, { ok: false, code: 414, '@extra': '_' }]);
  await close();
});

it('has a name for every operation once', () => {
  const paths = v2Routes().map(({ path }) => path);
  expect(new Set(paths).size).toBe(paths.length);
});

it('asks for whole rows: what it shows is more than their forms have', async () => {
  const { source, asked } = createFakeSource();
  const alone = await serveApi(source);
  await fetch(`${alone.url}/api/v2/getTransactions?address=0:${'7'.repeat(64)}`);
  await alone.close();
  const [{ args }] = asked.filter(({ method }) => method === 'transactions');
  expect(args.at(-1)).toMatchObject({ timeoutMs: expect.any(Number) });
  expect(args.at(-1)).not.toHaveProperty('formsSuffice');
});
