/** What both servers are asked: every operation that both have, about every kind of account and block, and nonsense. */
import { beginCell, external, storeMessage } from '@ton/core';
import { z } from 'zod';
import { type ContractName, contracts } from './contracts.ts';
import type { Stage } from './stage.ts';

/** Members of a body, or of a query where the values are no objects. */
export type Parameters = Record<string, unknown>;

export interface Question {
  method: string;
  parameters: Parameters;
}

const POSTED = new Set(['sendBocReturnHash', 'estimateFee', 'runGetMethod', 'sendBoc', 'sendQuery']);

/** Whether the reference takes it by POST alone; it takes all else by GET. */
export const isPosted = (method: string): boolean => POSTED.has(method);

const FULL = '-9223372036854775808';

const blockId = z.object({
  workchain: z.int(),
  shard: z.string(),
  seqno: z.int(),
  root_hash: z.string(),
  file_hash: z.string(),
});
type BlockId = z.infer<typeof blockId>;
const shardsOf = z.object({ result: z.object({ shards: z.array(blockId) }) });
const headerOf = z.object({ result: z.object({ start_lt: z.string(), end_lt: z.string(), gen_utime: z.int() }) });
const identified = z.object({ lt: z.string(), hash: z.string() });
const messageOf = z.looseObject({ source: z.string(), destination: z.string(), created_lt: z.string() });
const transactionsOf = z.object({
  result: z.array(
    z.looseObject({ transaction_id: identified, in_msg: messageOf.optional(), out_msgs: z.array(messageOf) }),
  ),
});

async function get(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(60_000) });
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
  return response.json();
}

function query(parameters: Record<string, string | number>): string {
  const pairs = Object.entries(parameters).map(([name, value]): [string, string] => [name, String(value)]);
  return new URLSearchParams(pairs).toString();
}

/** The first `count` of each kind. */
function ofEach<T>(items: readonly T[], kind: (item: T) => string, count: number): T[] {
  const seen = new Map<string, number>();
  return items.filter((item) => {
    const before = seen.get(kind(item)) ?? 0;
    seen.set(kind(item), before + 1);
    return before < count;
  });
}

export interface Width {
  /** Accounts of each code. */
  accounts: number;
  /** Every so many masterchain blocks one is looked at. */
  everyBlock: number;
  /** Also lists that take seconds. */
  longest: boolean;
}

const NOBODY = `0:${'7'.repeat(64)}`;
const NOBODY_OF_MASTERCHAIN = `-1:${'6'.repeat(64)}`;
/** Of the configuration and the elector. */
const SPECIAL = [`-1:${'5'.repeat(64)}`, `-1:${'3'.repeat(64)}`];
const METHODS = [
  'seqno',
  'get_wallet_data',
  'get_jetton_data',
  'get_nft_data',
  'get_collection_data',
  'get_public_key',
];

export async function questionsFor(stage: Stage, width: Width): Promise<Question[]> {
  const chosen = ofEach(stage.accounts, ({ code }) => code, width.accounts).map(({ address }) => address);
  const accounts = [...chosen, ...SPECIAL, NOBODY, NOBODY_OF_MASTERCHAIN];
  const questions: Question[] = [];
  const ask = (method: string, parameters: Parameters): unknown => questions.push({ method, parameters });
  for (const address of accounts) await askAboutAccount(stage, address, ask);
  await askAboutBlocks(stage, width.everyBlock, ask);
  askAboutChain(stage, ask);
  askAboutStacks(width.longest, ask);
  askNonsense(chosen[0], ask);
  return questions;
}

type Ask = (method: string, parameters: Parameters) => unknown;

async function askAboutAccount({ ours, head }: Stage, address: string, ask: Ask): Promise<void> {
  for (const method of ['getAddressInformation', 'getExtendedAddressInformation', 'getWalletInformation']) {
    for (const seqno of [undefined, 2, 8, head]) ask(method, { address, ...(seqno && { seqno }) });
  }
  for (const method of [
    'getAddressBalance',
    'getAddressState',
    'getTokenData',
    'packAddress',
    'unpackAddress',
    'detectAddress',
  ])
    ask(method, { address });
  for (const method of METHODS) ask('runGetMethod', { address, method, stack: [] });
  const { result: list } = transactionsOf.parse(await get(`${ours}/getTransactions?${query({ address, limit: 30 })}`));
  ask('getTransactions', { address, limit: 30 });
  ask('getTransactions', { address, limit: 1, archival: true });
  const [newest, ...older] = list.map(({ transaction_id }) => transaction_id);
  if (newest === undefined) return;
  ask('getTransactions', { address, limit: 10, ...newest });
  const hash = Buffer.from(newest.hash, 'base64');
  ask('getTransactions', { address, limit: 2, lt: newest.lt, hash: hash.toString('hex') });
  const last = older.at(-1);
  if (last !== undefined) {
    ask('getTransactions', { address, limit: 100, to_lt: last.lt });
    ask('getTransactions', { address, limit: 2, ...last });
  }
  for (const { in_msg, out_msgs } of list.slice(0, 2)) {
    for (const message of [in_msg, ...out_msgs]) {
      if (message === undefined || message.source === '' || message.destination === '') continue;
      const { source, destination, created_lt } = message;
      for (const method of ['tryLocateTx', 'tryLocateResultTx', 'tryLocateSourceTx'])
        ask(method, { source, destination, created_lt });
    }
  }
}

async function askAboutBlocks({ ours, head }: Stage, every: number, ask: Ask): Promise<void> {
  for (let seqno = 1; seqno <= head; seqno += every) {
    ask('shards', { seqno });
    if (seqno > 1) ask('getMasterchainBlockSignatures', { seqno });
    const { shards } = shardsOf.parse(await get(`${ours}/shards?seqno=${seqno}`)).result;
    const masters = { workchain: -1, shard: FULL, seqno };
    for (const { workchain, shard, seqno: own, ...hashes } of [
      { ...masters, root_hash: '', file_hash: '' },
      ...shards,
    ]) {
      if (own === 0) continue;
      await askAboutBlock(ours, { workchain, shard, seqno: own, ...hashes }, ask);
    }
  }
}

async function askAboutBlock(ours: string, block: BlockId, ask: Ask): Promise<void> {
  const { workchain, shard, seqno, ...hashes } = block;
  const place = { workchain, shard, seqno };
  ask('getBlockHeader', place);
  if (hashes.root_hash !== '') ask('getBlockHeader', { ...place, ...hashes });
  ask('lookupBlock', place);
  const { result } = headerOf.parse(await get(`${ours}/getBlockHeader?${query(place)}`));
  for (const lt of [result.start_lt, result.end_lt]) ask('lookupBlock', { workchain, shard, lt });
  ask('lookupBlock', { workchain, shard, unixtime: result.gen_utime });
  for (const more of [{}, { count: 2 }, { count: 1000 }]) {
    ask('getBlockTransactions', { ...place, ...more });
    ask('getBlockTransactionsExt', { ...place, ...more });
  }
  ask('getShardBlockProof', place);
}

function askAboutChain({ head }: Stage, ask: Ask): void {
  ask('getMasterchainInfo', {});
  ask('getConsensusBlock', {});
  for (const config_id of [...Array(45).keys(), 71, -71, -999, 999]) ask('getConfigParam', { config_id });
  for (const seqno of [3, head]) ask('getConfigParam', { config_id: 34, seqno });
  ask('getLibraries', { libraries: ['f'.repeat(64)] });
  ask('getLibraries', { libraries: [Buffer.alloc(32, 1).toString('base64'), Buffer.alloc(32, 2).toString('base64')] });
  const body = beginCell().storeUint(0, 32).endCell();
  const message = beginCell()
    .store(storeMessage(external({ to: `0:${'9'.repeat(64)}`, body })))
    .endCell();
  ask('sendBocReturnHash', { boc: message.toBoc().toString('base64') });
  askForFees(ask);
}

/** Results and arguments up to the longest and above, and methods that do not end well. */
function askAboutStacks(longest: boolean, ask: Ask): void {
  const run = (address: string, stack: readonly unknown[]) => ask('runGetMethod', { address, method: 'x', stack });
  const names: ContractName[] = ['list', 'longList', 'endless', 'refuses', ...(longest ? LONGEST : [])];
  for (const name of names) run(contracts[name], []);
  for (const count of [1, 300, 1100, ...(longest ? [7998, 7999] : [])]) {
    const stack = Array(count).fill(['num', 1]);
    for (const address of [contracts.echo, NOBODY]) run(address, stack);
    run(contracts.refuses, stack);
  }
}

const LONGEST: readonly ContractName[] = ['longest', 'tooLong', 'alternate'];

/** With bodies that have room in a message and such that have not, with and without what deploys a contract. */
function askForFees(ask: Ask): void {
  const boc = (bits: number, refs: number): string => {
    const builder = beginCell();
    for (let at = 0; at < bits; at++) builder.storeBit(at % 3 === 0);
    for (let at = 0; at < refs; at++) builder.storeRef(beginCell().storeUint(at, 8).endCell());
    return builder.endCell().toBoc().toString('base64');
  };
  const deployed = { init_code: boc(700, 1), init_data: boc(321, 0) };
  for (const name of ['accepts', 'refuses', 'fails', 'checksSignature', 'echo'] as const) {
    for (const ignore_chksig of [true, false])
      ask('estimateFee', { address: contracts[name], body: boc(32, 0), ignore_chksig });
  }
  for (const address of [NOBODY, NOBODY_OF_MASTERCHAIN]) {
    for (const bits of [0, 32, 600, 740, 745, 746, 747, 750, 1023]) {
      for (const refs of [0, 2, 3, 4]) {
        for (const more of [{}, deployed]) ask('estimateFee', { address, body: boc(bits, refs), ...more });
      }
    }
  }
}

/** Parameters that are none, at operations that want them. */
function askNonsense(address: string, ask: Ask): void {
  const bad = ['', 'x', '0:', `0:${'g'.repeat(64)}`, address.slice(0, -1), `${address}00`, 'EQ', '💎'.repeat(48)];
  for (const one of bad)
    for (const method of ['getAddressInformation', 'getAddressBalance', 'getTransactions', 'detectAddress'])
      ask(method, { address: one });
  for (const seqno of ['x', -1, 0, 1_000_000, '1e3']) {
    ask('getAddressInformation', { address, seqno });
    ask('shards', { seqno });
    ask('getBlockHeader', { workchain: -1, shard: FULL, seqno });
  }
  for (const limit of [0, -1, 'x', 1001]) ask('getTransactions', { address, limit });
  for (const pair of [{ lt: 1 }, { hash: 'x', lt: 1 }, { lt: '5000000', hash: 'A'.repeat(43).concat('=') }])
    ask('getTransactions', { address, ...pair });
  for (const boc of ['', 'x', 'AAAA', beginCell().endCell().toBoc().toString('base64')])
    ask('sendBocReturnHash', { boc });
  for (const stack of [[['num', 'x']], [['nonsense', 1]], [['tvm.Cell', 'x']], [['num']]])
    ask('runGetMethod', { address, method: 'seqno', stack });
  for (const place of [
    {},
    { workchain: -1 },
    { workchain: 7, shard: FULL, seqno: 1 },
    { workchain: -1, shard: 1, seqno: 1 },
  ]) {
    for (const method of ['lookupBlock', 'getBlockHeader', 'getBlockTransactions']) ask(method, place);
  }
  ask('getConfigParam', {});
  ask('getAddressInformation', {});
  ask('tryLocateTx', { source: address, destination: address, created_lt: 1 });
}
