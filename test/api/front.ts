/** What is not about rows: empty answers, refusals, documents, headers, methods. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { contractOperations, ENDPOINTS, spread } from './client.ts';
import type { Subject } from './subject.ts';

const ABSENT = { account: `0:${'AB'.repeat(32)}`, hash: 'ab'.repeat(32), seqno: 2_000_000_000 };

export function describeFront(subject: () => Subject): void {
  describeNothing(subject);
  describeRefusals(subject);
  describeDocuments(subject);
  describeHttp(subject);
}

function describeNothing(subject: () => Subject): void {
  it.each([
    ['transactions', 'transactions', { account: ABSENT.account }],
    ['transactions', 'transactions', { hash: ABSENT.hash }],
    ['transactions', 'transactions', { start_lt: '9223372036854775807' }],
    ['transactions', 'transactions', { start_utime: 4_000_000_000 }],
    ['transactions', 'transactions', { offset: 1_000_000 }],
    ['transactionsByMessage', 'transactions', { msg_hash: ABSENT.hash }],
    ['messages', 'messages', { msg_hash: ABSENT.hash }],
    ['messages', 'messages', { source: ABSENT.account }],
    ['messages', 'messages', { offset: 1_000_000 }],
    ['blocks', 'blocks', { root_hash: ABSENT.hash }],
    ['blocks', 'blocks', { workchain: 5 }],
    ['blocks', 'blocks', { mc_seqno: ABSENT.seqno }],
    ['accountStates', 'accounts', { address: ABSENT.account }],
  ])('finds nothing: /%s %s %o', async (endpoint, key, query) => {
    expect((await subject().client.page(endpoint, key, query)).rows).toEqual([]);
  });
}

function describeRefusals(subject: () => Subject): void {
  const conversion = (name: string): string => `failed to decode: schema: error converting value for "${name}"`;
  it.each([
    ['transactions', 'limit=1001', 422, 'limit is not allowed: 1001 > 1000'],
    ['messages', 'limit=1001', 422, 'limit is not allowed: 1001 > 1000'],
    ['blocks', 'sort=up', 422, 'wrong value for sort parameter'],
    ['transactions', 'lt=-1', 422, conversion('lt')],
    ['transactions', 'start_utime=-1', 422, null],
    ['transactions', 'hash=zz', 422, `${conversion('hash').replace('for ', 'for index 0 of ')}`],
    ['transactions', 'account=0:12', 422, `${conversion('account').replace('for ', 'for index 0 of ')}`],
    ['transactions', 'shard=8000000000000000', 422, null],
    ['transactions', 'workchain=0&seqno=1', 422, null],
    ['blocks', 'shard=8000000000000000', 422, null],
    ['blocks', 'seqno=4294967296', 422, conversion('seqno')],
    ['transactions', `mc_seqno=${ABSENT.seqno}`, 404, `masterchain block ${ABSENT.seqno} not found`],
    ['transactionsByMasterchainBlock', `seqno=${ABSENT.seqno}`, 404, `masterchain block ${ABSENT.seqno} not found`],
    ['masterchainBlockShardState', `seqno=${ABSENT.seqno}`, 404, 'blocks not found'],
    ['masterchainBlockShards', '', 404, 'blocks not found'],
    ['transactionsByMessage', '', 422, 'at least one of msg_hash, body_hash, opcode should be specified'],
    ['transactionsByMessage', 'opcode=1&direction=up', 422, 'direction should be one of: in, out'],
    ['transactionsByMessage', 'opcode=4294967295', 422, conversion('opcode')],
    ['adjacentTransactions', `hash=${ABSENT.hash}`, 404, 'adjacent transactions not found'],
    ['adjacentTransactions', '', 422, null],
    ['messages', 'source=NULL', 422, conversion('source')],
    ['accountStates', '', 422, 'address of account is required'],
    ['addressBook', '', 422, 'at least 1 address required'],
    ['topAccountsByBalance', 'limit=1001', 422, 'limit is not allowed: 1001 > 1000'],
    ['pendingTransactions', '', 422, 'at least 1 account address required'],
    ['pendingTransactions', `account=${ABSENT.account}`, 404, 'emulated traces not found'],
    ['pendingTraces', '', 422, 'account or ext_msg_hash should be specified'],
    ['pendingActions', '', 422, 'account or ext_msg_hash should be specified'],
    ['transactions', 'cursor=nonsense', 422, null],
    ['messages', 'cursor=nonsense', 422, null],
    ['blocks', 'cursor=nonsense', 422, null],
  ])('refuses /%s?%s with %i', async (endpoint, query, status, text) => {
    const refusal = await subject().client.refused(endpoint, query);
    expect(refusal.status).toBe(status);
    if (text !== null) expect(refusal.error).toBe(text);
    else expect(refusal.error).not.toBe('');
  });

  it('refuses more than 1024 addresses, 1000 for states', async () => {
    const addresses = Array.from({ length: 1025 }, (_, n) => `0:${n.toString(16).padStart(64, '0')}`);
    const { client } = subject();
    for (const [endpoint, name, most] of [
      ['transactions', 'account', 1024],
      ['addressBook', 'address', 1024],
      ['accountStates', 'address', 1000],
    ] as const) {
      await client.get(endpoint, { [name]: addresses.slice(0, most) });
      const refusal = await client.refused(endpoint, { [name]: addresses.slice(0, most + 1) });
      expect(refusal).toEqual({ status: 422, error: `maximum ${most} addresses allowed` });
    }
  });
}

/** Endpoints that are asked by POST, too. */
const POSTED = new Set(['decode']);

function describeDocuments(subject: () => Subject): void {
  it('describes all endpoints in OpenAPI', async () => {
    const response = await fetch(`${subject().url}/api/v3/openapi.json`);
    const document = z
      .looseObject({ openapi: z.string(), paths: z.record(z.string(), z.record(z.string(), z.unknown())) })
      .parse(await response.json());
    expect(document.openapi).toMatch(/^3\.1\.\d$/);
    const missing = contractOperations().filter(({ path, method }) => document.paths[path]?.[method] === undefined);
    expect(missing.map(({ path }) => path)).toEqual([]);
    const parameters = z
      .looseObject({ parameters: z.array(z.looseObject({ name: z.string() })) })
      .parse(document.paths['/transactions'].get)
      .parameters.map(({ name }) => name);
    expect(parameters).toEqual(expect.arrayContaining(['exclude_account', 'mc_seqno', 'sort', 'cursor']));
    expect(danglingReferences(document)).toEqual([]);
  });

  it('has an interactive page whose parts all load', async () => {
    const { url } = subject();
    for (const path of ['/api/v3', '/api/v3/']) {
      const moved = await fetch(url + path, { redirect: 'manual' });
      expect([moved.status, moved.headers.get('location')]).toEqual([301, '/api/v3/index.html']);
    }
    const page = await (await fetch(`${url}/api/v3/`)).text();
    const parts = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part]) => part);
    expect(parts.length).toBeGreaterThan(1);
    for (const part of parts) expect((await fetch(`${url}/api/v3/${part}`)).status, part).toBe(200);
  });
}

function danglingReferences(document: object): string[] {
  const names = [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path);
  expect(names.length).toBeGreaterThan(0);
  return names.filter((path) => {
    let value: unknown = document;
    for (const key of path.split('/')) value = z.record(z.string(), z.unknown()).safeParse(value).data?.[key];
    return value === undefined;
  });
}

function describeHttp(subject: () => Subject): void {
  it('leaves the address book out on request', async () => {
    const { url, network } = subject();
    const path = `${url}/api/v3/transactions?limit=3`;
    const full = z.object({ address_book: z.record(z.string(), z.unknown()) });
    const ask = async (address: string, headers = {}) => full.parse(await (await fetch(address, { headers })).json());
    expect(Object.keys((await ask(path)).address_book)).not.toEqual([]);
    expect((await ask(path, { 'X-No-Address-Book': 'true' })).address_book).toEqual({});
    expect((await ask(`${path}&x_no_address_book=1`)).address_book).toEqual({});
    const { account } = network.transactions[0];
    const book = await fetch(`${url}/api/v3/addressBook?address=${account}`, { headers: { 'X-No-Address-Book': '1' } });
    expect(Object.keys(z.record(z.string(), z.unknown()).parse(await book.json()))).toEqual([account]);
  });

  it('answers HEAD on every endpoint like GET, without a body', async () => {
    for (const endpoint of ENDPOINTS) {
      const answer = await fetch(`${subject().url}/api/v3/${endpoint}`, { method: 'HEAD' });
      const got = await fetch(`${subject().url}/api/v3/${endpoint}`);
      expect([endpoint, answer.status, await answer.text()]).toEqual([endpoint, got.status, '']);
      expect(answer.headers.get('content-length')).toBe(got.headers.get('content-length'));
      await got.arrayBuffer();
    }
  });

  it('answers other methods with 405 and other paths with 404', async () => {
    const ask = async (path: string, method: string) => {
      const answer = await fetch(`${subject().url}/api/v3${path}`, { method });
      return [answer.status, typeof z.object({ error: z.string() }).parse(await answer.json()).error];
    };
    for (const endpoint of ENDPOINTS) {
      for (const method of POSTED.has(endpoint) ? ['PUT', 'DELETE'] : ['POST', 'PUT', 'DELETE'])
        expect(await ask(`/${endpoint}`, method)).toEqual([405, 'string']);
    }
    for (const path of ['/nothing', '/transactions/more']) expect(await ask(path, 'GET')).toEqual([404, 'string']);
  });

  it('takes names in any case, a closing slash, unknown parameters and keys', async () => {
    const { url } = subject();
    const expected = await (await fetch(`${url}/api/v3/transactions?limit=2`)).text();
    for (const path of [
      '/TRANSACTIONS?limit=2',
      '/transactions/?limit=2',
      '/transactions?limit=2&color=red&api_key=k',
    ]) {
      expect(await (await fetch(`${url}/api/v3${path}`)).text()).toBe(expected);
    }
  });

  it('stays healthy and counts what it answered', async () => {
    const { url, network, client } = subject();
    for (const { account } of spread(network.transactions, 3)) await client.get('transactions', { account });
    const health = await fetch(`${url}/healthcheck`);
    expect([health.status, await health.text()]).toEqual([200, 'OK']);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(/^\w+_count\{[^}]*transactions[^}]*\} \d+$/m);
  });
}
