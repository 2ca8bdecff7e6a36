import { Address, beginCell, Cell, external, storeMessage } from '@ton/core';
import { TonClient } from '@ton/ton';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type ApiServer, serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import { specSchemas } from '../../../test/spec-schemas.ts';
import { Builder, toBoc } from '../../chain/builder.ts';
import { NodeError } from '../../node/chain-node.ts';
import { LiteServerError } from '../../node/lite-api.ts';
import type { QueryOptions } from '../../node/lite-pool.ts';
import { noLiteservers } from '../../node/liteservers.ts';
import { nodeFailure } from '../node-failures.ts';
import { sendExternal } from '../sending.ts';

const to = new Address(0, Buffer.alloc(32, 7));
const body = beginCell().storeUint(5, 32).endCell();
const cell = beginCell()
  .store(storeMessage(external({ to, body })))
  .endCell();
const boc = cell.toBoc().toString('base64');
const LIBRARY = toBoc(new Builder().u(2, 8).bytes(Buffer.alloc(32, 7)).cell(true)).toString('base64');
const PRUNED = toBoc(new Builder().u(0x0101, 16).bytes(Buffer.alloc(32, 7)).u(0, 16).cell(true)).toString('base64');
/** In a workchain that no message can name. */
const FAR = `300:${'1'.repeat(64)}`;
/** Its message is deeper than nodes take. */
const DEEP = toBoc(
  Array.from({ length: 512 }).reduce<ReturnType<Builder['cell']>>(
    (below) => new Builder().ref(below).cell(),
    new Builder().cell(),
  ),
).toString('base64');
const REASON = 'cannot apply external message to current state : Failed to unpack account state';
const refused = new NodeError('refused', 'sendMessage: x', { cause: new LiteServerError(0, REASON) });

let server: ApiServer;
let sent: Buffer[];
let fate: () => Promise<void>;

beforeEach(async () => {
  // What is sent again and again in one test has no part in the next.
  const mine: Buffer[] = [];
  sent = mine;
  fate = async () => undefined;
  const liteservers = {
    ...noLiteservers(),
    async sendMessage(bytes: Buffer) {
      await fate();
      mine.push(bytes);
    },
  };
  server = await serveApi(createFakeSource({}).source, { liteservers });
});
afterEach(async () => {
  // Whatever a caller sends, and whatever servers refuse, is nobody's fault here.
  expect(server.reported).toEqual([]);
  await server.close();
});

const answered = z.looseObject({ result: z.unknown().optional(), error: z.string().optional() });

async function post(path: string, members: object) {
  const response = await fetch(`${server.url}/api/${path}`, { method: 'POST', body: JSON.stringify(members) });
  return { status: response.status, ...answered.parse(await response.json()) };
}

test('@ton/ton sends a message', async () => {
  const client = new TonClient({ endpoint: `${server.url}/api/v2/jsonRPC` });
  await client.sendFile(cell.toBoc());
  expect(sent).toEqual([cell.toBoc()]);
});

test('every name sends, and tells hashes where it is asked for them', async () => {
  const hold = specSchemas('v2');
  const hashes = { hash: cell.hash().toString('base64'), hash_norm: expect.any(String) };
  for (const name of ['sendBocReturnHash', 'sendBocReturnHashNoError']) {
    const { status, result } = await post(`v2/${name}`, { boc });
    expect(status).toBe(200);
    hold('ExtMessageInfo', result);
    expect(result).toMatchObject(hashes);
  }
  for (const name of ['sendBoc', 'sendBocUnsafe']) {
    expect(await post(`v2/${name}`, { boc })).toMatchObject({ status: 200, result: { '@type': 'ok' } });
  }
  expect(await post('v3/message', { boc })).toMatchObject({
    status: 200,
    message_hash: hashes.hash,
    message_hash_norm: expect.any(String),
  });
  await expect.poll(() => sent).toHaveLength(5);
});

test('messages are made of address and body', async () => {
  const data = { b64: 'AAAABQ==', len: 32 };
  const address = to.toString();
  const code = beginCell().storeUint(1, 8).endCell().toBoc().toString('base64');
  const bag = body.toBoc().toString('base64');
  for (const [name, members] of [
    ['sendQuery', { address, body: bag }],
    ['sendQuery', { address, body: bag, init_code: code, init_data: code }],
    ['sendQuerySimple', { address, body: { data, refs: [] } }],
  ] as const) {
    expect(await post(`v2/${name}`, members)).toMatchObject({ status: 200, result: { '@type': 'ok' } });
  }
  const init = { code: Cell.fromBase64(code), data: Cell.fromBase64(code) };
  const written = [external({ to, body }), external({ to, body, init }), external({ to, body })];
  const expected = written.map((message) => beginCell().store(storeMessage(message)).endCell().hash());
  expect(sent.map((bytes) => Cell.fromBoc(bytes)[0].hash())).toEqual(expected);
  expect(await post('v2/sendQuery', { address, body: bag, init_code: code })).toMatchObject({
    status: 500,
    error: expect.stringMatching(/^INVALID_BAG_OF_CELLS: init_data/),
  });
});

test('a refusal has the words of the server', async () => {
  fate = () => Promise.reject(refused);
  const error = `LITE_SERVER_UNKNOWN: ${REASON}`;
  expect(await post('v2/sendBoc', { boc })).toMatchObject({ status: 500, error });
  expect(await post('v2/sendBocReturnHashNoError', { boc })).toMatchObject({ status: 400, error });
  expect(await post('v3/message', { boc })).toMatchObject({ status: 500, error });
  // Nobody is told what becomes of this one.
  expect(await post('v2/sendBocUnsafe', { boc })).toMatchObject({ status: 200 });
});

test('a deadline that ends is the time-out that clients know', async () => {
  const never = (reasonOf: (signal: AbortSignal) => unknown) => ({
    ...noLiteservers(),
    sendMessage: (_boc: Buffer, signal: AbortSignal) =>
      new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(reasonOf(signal)))),
  });
  const aborted = (signal: AbortSignal) => new NodeError('aborted', 'sendMessage: aborted', { cause: signal.reason });
  for (const reasonOf of [aborted, (signal: AbortSignal): unknown => signal.reason]) {
    const sending = sendExternal(never(reasonOf), cell.toBoc(), new AbortController().signal, 1);
    const error = await sending.catch((thrown: unknown) => thrown);
    expect(nodeFailure(error)).toMatchObject({ status: 504, text: 'Liteserver timeout' });
  }
});

test('liteservers have ten seconds, as for tonlib', async () => {
  const times: (number | undefined)[] = [];
  const slow = {
    ...noLiteservers(),
    query: async (_request: object, { timeoutMs }: QueryOptions): Promise<never> => {
      times.push(timeoutMs);
      throw new NodeError('unavailable', 'getLibraries: no answer');
    },
  };
  const other = await serveApi(createFakeSource({}).source, { liteservers: slow });
  const response = await fetch(`${other.url}/api/v2/getLibraries?libraries=${'11'.repeat(32)}`);
  await other.close();
  expect([response.status, times]).toEqual([504, [10_000]]);
});

test('what is no external message is refused before anybody is asked', async () => {
  const bag = body.toBoc().toString('base64');
  const of = { address: to.toString(), body: bag };
  const cases: [string, object, number, RegExp][] = [
    ['v2/sendBoc', {}, 422, /^failed to parse post request: boc required$/],
    ['v2/sendBoc', { boc: '' }, 422, /^failed to validate request: empty boc$/],
    ['v2/sendBoc', { boc: '%%' }, 422, /^failed to parse post request: failed to parse boc$/],
    ['v2/sendBoc', { boc: 5 }, 422, /^failed to parse post request: failed to parse boc$/],
    ['v2/sendBoc', { boc: 'AAAA' }, 500, /^INVALID_BAG_OF_CELLS: body/],
    ['v2/sendBoc', { boc: body.toBoc().toString('base64') }, 500, /^INVALID_BAG_OF_CELLS: body/],
    ['v2/sendBoc', { boc: Buffer.alloc(100_000).toString('base64') }, 500, /65535 at most/],
    ['v2/sendBocUnsafe', { boc: 'AAAA' }, 500, /^INVALID_BAG_OF_CELLS: body/],
    ['v2/sendQuery', { body: boc }, 422, /address required/],
    ['v2/sendQuery', { address: to.toString() }, 422, /^failed to parse post request: body required$/],
    ['v2/sendQuery', { address: to.toString(), body: 5 }, 422, /Invalid body/],
    ['v2/sendQuery', { address: to.toString(), body: '%%' }, 422, /Invalid body: not base64/],
    ['v2/sendQuery', { address: to.toString(), body: 'AAAA' }, 500, /^INVALID_BAG_OF_CELLS: body/],
    ['v2/sendQuery', { ...of, init_code: 'AAAA', init_data: bag }, 500, /^INVALID_BAG_OF_CELLS: init_code/],
    ['v2/sendQuery', { ...of, init_code: bag, init_data: 'AAAA' }, 500, /^INVALID_BAG_OF_CELLS: init_data/],
    ['v2/sendQuery', { body: 'AAAA' }, 422, /address required/],
    ['v2/estimateFee', { address: to.toString(), body: 'AAAA' }, 500, /^INVALID_BAG_OF_CELLS: body/],
    ['v2/estimateFee', { address: to.toString(), body: LIBRARY }, 422, /body: an exotic cell/],
    ['v2/estimateFee', { address: FAR, body: LIBRARY }, 422, /failed to parse address/],
    ['v2/sendQuery', { address: FAR, body: LIBRARY }, 422, /failed to parse address/],
    ['v3/estimateFee', { address: FAR, body: LIBRARY }, 422, /^invalid address: 300:/],
    ['v3/estimateFee', { address: to.toString(), body: LIBRARY }, 422, /body: an exotic cell/],
    ['v2/estimateFee', { address: to.toString(), body: DEEP }, 422, /body: nested deeper than 511/],
    ['v3/estimateFee', { address: to.toString(), body: DEEP }, 422, /body: nested deeper than 511/],
    ['v3/estimateFee', { address: to.toString(), body: PRUNED }, 422, /body: pruned branches/],
    ['v2/sendCellSimple', { cell: { data: { b64: 'AA==', len: 8 }, refs: [] } }, 500, /^INVALID_BAG_OF_CELLS/],
    ['v3/message', {}, 401, /^boc is required$/],
    ['v3/message', { boc: 5 }, 422, /^boc: .*expected string/],
    ['v3/runGetMethod', { address: to.toString(), method: 'm', stack: [['num', '1']] }, 422, /^stack\.0: /],
    ['v3/message', { boc: 'AAAA' }, 500, /^INVALID_BAG_OF_CELLS/],
  ];
  for (const [path, members, status, error] of cases) {
    expect(await post(path, members), JSON.stringify(members).slice(0, 100)).toMatchObject({
      status,
      error: expect.stringMatching(error),
    });
  }
  expect(sent).toEqual([]);
});
