/**
 * What TonClient makes of an answer in which one member is another: those it refuses are no answers of the contract
 * either, so what holds answers to the contract would see them.
 */
import { createServer } from 'node:http';
import { beginCell } from '@ton/core';
import { TonClient } from '@ton/ton';
import { z } from 'zod';
import type { TestWallet } from './devnet-wallets.ts';

const answered = z.looseObject({ result: z.unknown() });

/** A member by its way from the result, and what stands there instead; undefined takes it away. */
export interface Change {
  call: (client: TonClient, wallet: TestWallet) => Promise<unknown>;
  /** Of the contract, for the changed result. */
  schema: string;
  path: readonly (string | number)[];
  value: unknown;
}

const state: Change['call'] = (client, { address }) => client.getContractState(address);
const balance: Change['call'] = (client, { address }) => client.getBalance(address);
const history: Change['call'] = (client, { address }) => client.getTransactions(address, { limit: 5 });
const method: Change['call'] = (client, { address }) => client.runMethod(address, 'seqno');
const fees: Change['call'] = (client, { address }) =>
  client.estimateExternalMessageFee(address, {
    body: beginCell().endCell(),
    initCode: null,
    initData: null,
    ignoreSignature: true,
  });
const send: Change['call'] = (client, wallet) => client.sendFile(wallet.pay({ to: wallet.address, value: 1n }));
const MASTERCHAIN_SHARD = '-9223372036854775808';
const inBlock: Change['call'] = (client) => client.getShardTransactions(-1, 2, MASTERCHAIN_SHARD);
const of = (call: Change['call'], schema: string, way: string, value: unknown): Change => {
  const path = (way === '' ? [] : way.split('.')).map((name) => (/^\d+$/.test(name) ? Number(name) : name));
  return { call, schema, path, value };
};

const HASH = Buffer.alloc(32, 1).toString('base64');

export const REFUSED: readonly Change[] = [
  of(history, 'TransactionsResult', '0.in_msg', null),
  of(history, 'TransactionsResult', '0.in_msg.source', { '@type': 'accountAddress', account_address: '' }),
  of(history, 'TransactionsResult', '0.transaction_id.lt', 5),
  of(history, 'TransactionsResult', '0.fee', 5),
  of(state, 'AddressInformationResult', 'state', 'nonexist'),
  of(state, 'AddressInformationResult', 'extra_currencies', null),
  of(state, 'AddressInformationResult', 'block_id.@type', undefined),
  of(state, 'AddressInformationResult', 'block_id.seqno', '5'),
  of(state, 'AddressInformationResult', 'last_transaction_id.lt', 5),
  of((client) => client.getMasterchainInfo(), 'MasterchainInfoResult', 'init', undefined),
  of(fees, 'EstimateFeeResult', 'source_fees.gas_fee', '0'),
  of(fees, 'EstimateFeeResult', 'source_fees.in_fwd_fee', '400000'),
  of(send, 'SendBocResult', '', { '@type': 'raw.extMessageInfo', hash: HASH, hash_norm: HASH }),
  of(inBlock, 'BlockTransactionsResult', 'transactions.0.mode', '7'),
];

/** The client refuses these for what they say: as answers they are in form. */
export const UNSUITABLE: readonly Change[] = [
  of(method, 'RunGetMethodResult', 'stack.0', ['unsupported', '']),
  of(method, 'RunGetMethodResult', 'exit_code', 1),
];

const EMPTY_CELL = beginCell().endCell().toBoc().toString('base64');

export const TAKEN: readonly Change[] = [
  of(balance, 'AddressInformationResult', 'balance', 5),
  of(state, 'AddressInformationResult', 'frozen_hash', undefined),
  of(history, 'TransactionsResult', '0.in_msg', undefined),
  of(method, 'RunGetMethodResult', 'stack.0', ['num', '31']),
  of(method, 'RunGetMethodResult', 'stack.0', ['null']),
  of(method, 'RunGetMethodResult', 'stack.0', ['slice', { bytes: EMPTY_CELL }]),
  of(inBlock, 'BlockTransactionsResult', 'transactions.0.account', `-1:${'AB'.repeat(32)}`),
];

function changed(result: unknown, [name, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (name === undefined) return value;
  if (Array.isArray(result) && Number(name) >= result.length) throw new Error(`the answer has no item ${name}`);
  if (Array.isArray(result)) return result.map((item, at) => (at === name ? changed(item, rest, value) : item));
  const members = z.record(z.string(), z.unknown()).parse(result);
  const { [name]: member, ...others } = members;
  const next = changed(member, rest, value);
  return next === undefined ? others : { ...others, [name]: next };
}

/**
 * Whether the client takes the answer with this change, and the changed result.
 * @param url of the service
 */
export async function askChanged(url: string, wallet: TestWallet, { call, path, value }: Change) {
  let result: unknown;
  let failure: unknown = null;
  const between = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString();
    const answer = answered.parse(await (await fetch(`${url}/api/v2/jsonRPC`, { method: 'POST', body })).json());
    try {
      result = changed(answer.result, path, value);
    } catch (error) {
      failure = error;
    }
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ ...answer, result }));
  });
  await new Promise<void>((resolve) => between.listen(0, '127.0.0.1', resolve));
  const address = between.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  try {
    const client = new TonClient({ endpoint: `http://127.0.0.1:${address.port}/` });
    const isTaken = await call(client, wallet).then(
      () => true,
      () => false,
    );
    if (failure !== null) throw failure;
    return { isTaken, result };
  } finally {
    between.closeAllConnections();
    await new Promise((resolve) => between.close(resolve));
  }
}
