/** Random requests of the endpoints that the window answers, with values that are in the steps, beside them, or nowhere. */
import fc from 'fast-check';
import { actionAccounts as actionAccountTable, actions as actionTable } from '../clickhouse/tables/actions.ts';
import { blocks as blockTable } from '../clickhouse/tables/blocks.ts';
import { jettonBurns, jettonMasters, jettonTransfers, jettonWallets } from '../clickhouse/tables/jettons.ts';
import { nftCollections, nftItems, nftTransfers } from '../clickhouse/tables/nfts.ts';
import { traces as traceTable } from '../clickhouse/tables/traces.ts';
import { transactions as transactionTable } from '../clickhouse/tables/transactions.ts';
import { rawAddress } from '../src/chain/address.ts';
import type { Address, Hash, Message } from '../src/chain/model.ts';
import type { PublishedStep } from '../streams/steps-topic.ts';

/** To one page of up to a thousand rows, which may cost what fifty others do, so many short ones. */
const SHORT_PAGES = 9;
const NOBODY = `0:${'7'.repeat(64)}`;
const NOTHING = '7'.repeat(64);

interface Values {
  account: string[];
  hash: string[];
  lt: string[];
  utime: string[];
  block: { workchain: number; shard: string; seqno: number }[];
  blockHash: string[];
  mcSeqno: string[];
  messageHash: string[];
  bodyHash: string[];
  opcode: string[];
  source: string[];
  destination: string[];
  traceId: string[];
  /** Ends of traces. */
  endLt: string[];
  endUtime: string[];
  actionId: string[];
  actionType: string[];
  /** Found by actions. */
  actor: string[];
  transfers: EventValues;
  burns: EventValues;
  itemTransfers: EventValues;
  tokens: string[];
}

/** Of transfers or burns. */
interface EventValues {
  owner: string[];
  contract: string[];
  token: string[];
  lt: string[];
  utime: string[];
}

interface EventFacts {
  owners: (Address | null)[];
  contract: Address;
  token: Address | null;
  row: { transactionLt: string; transactionNow: number };
}

function eventValues(events: readonly EventFacts[]): EventValues {
  const raw = (addresses: readonly (Address | null)[]): string[] => [
    ...addresses.filter((one) => one !== null).map(rawAddress),
    NOBODY,
  ];
  return {
    owner: raw(events.flatMap(({ owners }) => owners)),
    contract: raw(events.map(({ contract }) => contract)),
    token: raw(events.map(({ token }) => token)),
    lt: [...events.map(({ row }) => row.transactionLt), '1'],
    utime: [...events.map(({ row }) => String(row.transactionNow)), '0', '4294967295'],
  };
}

/** Types and shortcuts that clients say they know. */
const SUPPORTED = ['v1', 'v2', 'latest', 'jettons', 'ton_transfer', 'no_such_type', ''];

const hex = (hash: Hash): string => hash.toString('hex');

/** What the steps hold, to ask for. */
function valuesOf(steps: readonly PublishedStep[]): Values {
  const blocks = steps.flatMap(({ step }) => step.rows.of(blockTable));
  const transactions = steps.flatMap(({ step }) => step.rows.of(transactionTable).map((row) => row.transaction));
  const messages: Message[] = transactions.flatMap(({ inMsg, outMsgs }) => (inMsg ? [inMsg, ...outMsgs] : outMsgs));
  const traces = steps.flatMap(({ step }) => step.rows.of(traceTable));
  const actions = steps.flatMap(({ step }) => step.rows.of(actionTable));
  const actors = steps.flatMap(({ step }) => step.rows.of(actionAccountTable));
  const transfers = steps.flatMap(({ step }) => step.rows.of(jettonTransfers));
  const burns = steps.flatMap(({ step }) => step.rows.of(jettonBurns));
  const itemTransfers = steps.flatMap(({ step }) => step.rows.of(nftTransfers));
  const tokens = [jettonMasters, jettonWallets, nftCollections, nftItems].flatMap((table) =>
    steps.flatMap(({ step }) => step.rows.of<{ address: Address }>(table)),
  );
  const busy = new Map<string, number>();
  for (const { account } of transactions) busy.set(rawAddress(account), (busy.get(rawAddress(account)) ?? 0) + 1);
  // Busy accounts are asked for as often as they act.
  const account = [...transactions.map((t) => rawAddress(t.account)), ...busy.keys(), NOBODY];
  return {
    account,
    hash: [...transactions.map((t) => hex(t.hash)), NOTHING],
    lt: [...transactions.map((t) => t.lt), ...blocks.flatMap((b) => [b.startLt, b.endLt]), '0', '1'],
    utime: [...new Set(blocks.map((b) => String(b.genUtime))), '0', '4294967295'],
    block: blocks.map(({ workchain, shard, seqno }) => ({ workchain, shard, seqno })),
    blockHash: [...blocks.flatMap((b) => [hex(b.rootHash), hex(b.fileHash)]), NOTHING],
    mcSeqno: [...steps.map(({ step }) => String(step.mcSeqno)), '0', '1', '2147483647'],
    messageHash: [...messages.flatMap((m) => [hex(m.hash), hex(m.hashNorm() ?? m.hash)]), NOTHING],
    bodyHash: [...messages.map((m) => hex(m.bodyHash)), NOTHING],
    opcode: [
      ...new Set(messages.flatMap((m) => (m.opcode === null ? [] : [`0x${m.opcode.toString(16)}`]))),
      '0x77777777',
    ],
    source: [...messages.flatMap((m) => (m.source ? [rawAddress(m.source)] : [])), 'null', NOBODY],
    destination: [...messages.flatMap((m) => (m.destination ? [rawAddress(m.destination)] : [])), 'null', NOBODY],
    traceId: [...traces.map(({ traceId }) => hex(traceId)), NOTHING],
    endLt: [...traces.map(({ endLt }) => endLt), '0', '1'],
    endUtime: [...new Set(traces.map(({ endUtime }) => String(endUtime))), '0', '4294967295'],
    actionId: [...actions.map(({ actionId }) => hex(actionId)), NOTHING],
    actionType: [...actions.map(({ type }) => type), ...new Set(actions.map(({ type }) => type)), 'no_such_type'],
    transfers: eventValues(
      transfers.map((row) => ({
        owners: [row.source, row.destination],
        contract: row.sourceWallet,
        token: row.jettonMaster,
        row,
      })),
    ),
    burns: eventValues(
      burns.map((row) => ({ owners: [row.owner], contract: row.jettonWallet, token: row.jettonMaster, row })),
    ),
    itemTransfers: eventValues(
      itemTransfers.map((row) => ({
        owners: [row.oldOwner, row.newOwner],
        contract: row.nftAddress,
        token: row.nftCollection,
        row,
      })),
    ),
    tokens: [...tokens.map(({ address }) => rawAddress(address)), NOBODY],
    actor: [...actors.map(({ account }) => rawAddress(account)), NOBODY],
  };
}

type Parameter = readonly [string, string];
type Parameters = fc.Arbitrary<Parameter[]>;

/** Paths with queries. `shortPages`: of such, how many to a long one. */
export function requests(steps: readonly PublishedStep[], shortPages = SHORT_PAGES): fc.Arbitrary<string> {
  const v = valuesOf(steps);
  const one = (name: string, values: readonly string[]): Parameters =>
    fc.constantFrom(...values).map((value): Parameter[] => [[name, value]]);
  const some = (name: string, values: readonly string[], most: number): Parameters =>
    fc
      .array(fc.constantFrom(...values), { minLength: 1, maxLength: most })
      .map((list): Parameter[] => [[name, list.join(',')]]);
  const page = fc
    .record(
      {
        limit: fc
          .oneof({ weight: shortPages, arbitrary: fc.integer({ min: 1, max: 30 }) }, fc.constant(1000))
          .map(String),
        offset: fc
          .oneof({ weight: 3, arbitrary: fc.integer({ min: 0, max: 40 }) }, fc.integer({ min: 0, max: 3000 }))
          .map(String),
        sort: fc.constantFrom('asc', 'desc'),
      },
      { requiredKeys: ['limit'] },
    )
    .map((values): Parameter[] => Object.entries(values));
  const cursor = fc.constant<Parameter[]>([['cursor', '']]);
  const block = (withSeqno: boolean): Parameters =>
    fc
      .constantFrom(...v.block)
      .map(({ workchain, shard, seqno }): Parameter[] => [
        ['workchain', String(workchain)],
        ['shard', shard],
        ...(withSeqno ? [['seqno', String(seqno)] as const] : []),
      ]);
  const windows = [one('start_lt', v.lt), one('end_lt', v.lt), one('start_utime', v.utime), one('end_utime', v.utime)];
  const path = (name: string, always: Parameters[], sometimes: Parameters[]): fc.Arbitrary<string> =>
    fc
      .tuple(
        fc.tuple(...always),
        fc.subarray(sometimes, { maxLength: Math.min(3, sometimes.length) }).chain((chosen) => fc.tuple(...chosen)),
      )
      .map(([a, b]) => {
        const query = [...a, ...b].flat().map(([key, value]) => `${key}=${encodeURIComponent(value)}`);
        return `${name}?${query.join('&')}`;
      });
  const listing = (name: string, always: Parameters[], sometimes: Parameters[]) =>
    path(name, [...always, page], sometimes);
  const workchain = one('workchain', ['0', '-1', '5']);
  const ends = [
    one('start_lt', v.endLt),
    one('end_lt', v.endLt),
    one('start_utime', v.endUtime),
    one('end_utime', v.endUtime),
  ];
  const told = [
    some('action_type', v.actionType, 3),
    some('exclude_action_type', v.actionType, 2),
    some('supported_action_types', SUPPORTED, 2),
    one('include_accounts', ['true']),
  ];
  const eventsOf = (name: string, contract: string, token: string, of: EventValues) =>
    listing(
      name,
      [
        fc.oneof(
          one('owner_address', of.owner),
          some('owner_address', of.owner, 4),
          some(contract, of.contract, 3),
          one(token, of.token),
          fc.constant<Parameter[]>([]),
        ),
      ],
      [
        one('start_lt', of.lt),
        one('end_lt', of.lt),
        one('start_utime', of.utime),
        one('end_utime', of.utime),
        one('direction', ['in', 'out']),
        one(token, of.token),
        cursor,
      ],
    );
  return fc.oneof(
    eventsOf('/jetton/transfers', 'jetton_wallet', 'jetton_master', v.transfers),
    eventsOf('/jetton/burns', 'jetton_wallet', 'jetton_master', v.burns),
    eventsOf('/nft/transfers', 'item_address', 'collection_address', v.itemTransfers),
    path('/metadata', [some('address', v.tokens, 20)], []),
    listing('/topAccountsByBalance', [], []),
    listing(
      '/jetton/wallets',
      [one('jetton_address', v.transfers.token)],
      [one('exclude_zero_balance', ['true']), one('owner_address', v.transfers.owner)],
    ),
    {
      weight: 3,
      arbitrary: listing('/transactions', [], [...windows, one('exclude_account', v.account), cursor, workchain]),
    },
    {
      weight: 3,
      arbitrary: listing('/transactions', [some('account', v.account, 1)], [...windows, one('lt', v.lt), cursor]),
    },
    {
      weight: 3,
      arbitrary: listing(
        '/transactions',
        [some('account', v.account, 40)],
        [...windows, one('exclude_account', v.account), cursor, workchain],
      ),
    },
    listing(
      '/transactions',
      [one('mc_seqno', v.mcSeqno)],
      [...windows, some('account', v.account, 3), block(false), cursor],
    ),
    listing(
      '/transactions',
      [some('hash', v.hash, 20)],
      [...windows, some('account', v.account, 50), one('lt', v.lt), cursor],
    ),
    listing('/transactions', [one('lt', v.lt)], [workchain, cursor]),
    listing('/transactions', [block(true)], windows),
    listing('/transactions', [block(false)], [...windows, cursor]),
    listing('/transactionsByMasterchainBlock', [one('seqno', v.mcSeqno)], []),
    {
      weight: 2,
      arbitrary: listing(
        '/transactionsByMessage',
        [some('msg_hash', v.messageHash, 5)],
        [
          one('direction', ['in', 'out']),
          one('opcode', v.opcode),
          one('source', v.source),
          one('destination', v.destination),
        ],
      ),
    },
    listing('/transactionsByMessage', [one('body_hash', v.bodyHash)], [one('direction', ['in', 'out'])]),
    { weight: 2, arbitrary: path('/adjacentTransactions', [one('hash', v.hash)], [one('direction', ['in', 'out'])]) },
    {
      weight: 3,
      arbitrary: listing(
        '/messages',
        [],
        [
          ...windows,
          one('opcode', v.opcode),
          one('direction', ['in', 'out']),
          one('exclude_externals', ['true']),
          one('only_externals', ['true']),
          cursor,
        ],
      ),
    },
    {
      weight: 2,
      arbitrary: listing(
        '/messages',
        [one('source', v.source)],
        [...windows, one('destination', v.destination), one('direction', ['in', 'out']), cursor],
      ),
    },
    {
      weight: 2,
      arbitrary: listing(
        '/messages',
        [one('destination', v.destination)],
        [...windows, one('opcode', v.opcode), one('direction', ['in', 'out']), cursor],
      ),
    },
    listing(
      '/messages',
      [some('msg_hash', v.messageHash, 5)],
      [...windows, one('direction', ['in', 'out']), one('source', v.source)],
    ),
    listing(
      '/messages',
      [one('body_hash', v.bodyHash)],
      [...windows, one('source', v.source), one('direction', ['in', 'out'])],
    ),
    { weight: 2, arbitrary: listing('/blocks', [], [...windows, workchain, block(false), cursor]) },
    listing(
      '/blocks',
      [fc.oneof(block(true), one('root_hash', v.blockHash), one('file_hash', v.blockHash), one('mc_seqno', v.mcSeqno))],
      windows,
    ),
    listing('/traces', [], [...ends, cursor, one('mc_seqno', v.mcSeqno), one('include_actions', ['true'])]),
    {
      weight: 2,
      arbitrary: listing('/traces', [one('account', v.account)], [...ends, cursor, one('include_actions', ['true'])]),
    },
    listing(
      '/traces',
      [fc.oneof(some('trace_id', v.traceId, 5), some('tx_hash', v.hash, 5), some('msg_hash', v.messageHash, 3))],
      [...ends, cursor, one('mc_seqno', v.mcSeqno)],
    ),
    listing('/events', [fc.oneof(one('account', v.account), one('tx_hash', v.hash))], ends),
    { weight: 2, arbitrary: listing('/actions', [], [...ends, ...told, cursor, one('mc_seqno', v.mcSeqno)]) },
    {
      weight: 2,
      arbitrary: listing(
        '/actions',
        [fc.oneof(one('account', v.actor), some('account', v.actor, 40))],
        [...ends, ...told, cursor, some('exclude_account', v.actor, 3), one('mc_seqno', v.mcSeqno)],
      ),
    },
    listing(
      '/actions',
      [
        fc.oneof(
          some('action_id', v.actionId, 5),
          some('trace_id', v.traceId, 5),
          some('tx_hash', v.hash, 5),
          some('msg_hash', v.messageHash, 3),
        ),
      ],
      [...ends, ...told, cursor, one('account', v.actor), one('include_transactions', ['true'])],
    ),
    path('/masterchainInfo', [], []),
    path('/masterchainBlockShards', [one('seqno', v.mcSeqno), page], []),
    path('/masterchainBlockShardState', [one('seqno', v.mcSeqno)], []),
    {
      weight: 2,
      arbitrary: path('/accountStates', [some('address', v.account, 30)], [one('include_boc', ['true', 'false'])]),
    },
    path('/addressBook', [some('address', v.account, 1)], []),
  );
}
