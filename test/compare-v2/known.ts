/**
 * Where the older server is known to answer otherwise, and the section of the contract (the v2 endpoints) that says so.
 * Whatever is not here is a fault of one of the two.
 */
import type { Difference } from './compare.ts';

export interface Known {
  why: string;
  holds(difference: Difference): boolean;
}

type Statuses = number | readonly number[];

/** The status here and there, at operations of these names. */
const status =
  (ours: Statuses, theirs: Statuses, methods = /./): Known['holds'] =>
  (difference) =>
    difference.path === '' &&
    [ours].flat().includes(Number(difference.ours)) &&
    [theirs].flat().includes(Number(difference.theirs)) &&
    methods.test(difference.question.method);

/** A member of the result, with values for which this holds. */
const member =
  (methods: RegExp, path: RegExp, holds: (ours: unknown, theirs: unknown) => boolean): Known['holds'] =>
  ({ question: { method }, path: at, ours, theirs }) =>
    methods.test(method) && path.test(at) && holds(ours, theirs);

const absent = (_ours: unknown, theirs: unknown): boolean => theirs === undefined;
const asNumber = (ours: unknown, theirs: unknown): boolean =>
  typeof ours === 'string' && typeof theirs === 'number' && Number(ours) === theirs;
const otherCase = (ours: unknown, theirs: unknown): boolean =>
  typeof ours === 'string' && typeof theirs === 'string' && ours.toLowerCase() === theirs.toLowerCase();

/** Of the last byte that the bits of a cell do not fill, here with the bit that ends them. */
function completed(ours: unknown, theirs: unknown): boolean {
  if (typeof ours !== 'string' || typeof theirs !== 'string') return false;
  const [own, other] = [ours, theirs].map((text) => Buffer.from(text, 'base64'));
  const last = own.length - 1;
  const difference = own[last] ^ other[last];
  return own.subarray(0, last).equals(other.subarray(0, last)) && (own[last] & -own[last]) === difference;
}

const TRANSACTIONS = /^(getTransactions|tryLocate|getBlockTransactionsExt)/;
const LOCATE = /^tryLocate/;

export const KNOWN: readonly Known[] = [
  { why: '1.4: a bad address', holds: status(422, 416) },
  { why: '1.3: digits are an address there, however many', holds: isShortAddress },
  { why: '1.4: what cannot be read', holds: status(422, [500, 503]) },
  { why: '1.3: a number that does not fit', holds: status(422, 504) },
  { why: '7: a stack entry of no known type', holds: status(542, 503, /^runGetMethod$/) },
  { why: '7: a cell that is none', holds: status(422, 504, /^runGetMethod$/) },
  {
    why: '5: only one of lt and hash, and limits that JSON-RPC does not check',
    holds: status(422, 200, /^getTransactions$/),
  },
  { why: '6: a parameter below 0', holds: status(422, 200, /^getConfigParam$/) },
  { why: '5: nothing found', holds: status(404, [500, 503], LOCATE) },
  {
    why: '4: a search that ends at block 1',
    holds: (difference) =>
      status(200, 500, /^lookupBlock$/)(difference) && /prev_headers/.test(difference.answers.theirs.error ?? ''),
  },
  {
    why: '4: part of a shard as a prefix, which the liteserver of the devnet does not take for the masterchain',
    holds: (difference) =>
      status(200, 500, /^(lookupBlock|getBlockHeader|getBlockTransactions)$/)(difference) &&
      difference.question.parameters.shard === 1,
  },
  {
    // Code before it accepts has the credit of the configuration, bought with what is there: nothing where there is no
    // coin. There nothing limits it: the gas of a loop of 30,000 is told, and an endless one never ends.
    why: "estimateFee (the mapping's 5): code has no gas where there is no coin, there without a limit until it accepts",
    holds: ({ question: { method, parameters }, path }) =>
      method === 'estimateFee' && path === 'source_fees.gas_fee' && parameters.init_code !== undefined,
  },
  {
    why: '5: around a split or merge, where one of the blocks it looks through cannot be had',
    holds: status(200, [500, 503], LOCATE),
  },
  { why: '3: get-methods of something else', holds: status(409, 500, /^getTokenData$/) },
  { why: '1.1: no @type there', holds: ({ path, theirs }) => /(^|\.)@type$/.test(path) && theirs === undefined },
  {
    why: '10: types of transactions and messages',
    holds: member(
      TRANSACTIONS,
      /@type$/,
      (ours, theirs) =>
        String(ours).replace(/^ext\.|Ext$/g, '') === String(theirs).replace(/^raw\./, '') ||
        ours === 'raw.transactionExt',
    ),
  },
  { why: '5: account is of C++ alone', holds: member(/^(getTransactions|tryLocate)/, /(^|\.)account$/, absent) },
  { why: '1.2: letter case of account', holds: member(/^getBlockTransactionsExt$/, /\.account$/, otherCase) },
  {
    why: '5: lines of base64',
    holds: member(
      TRANSACTIONS,
      /\.message$|^message$/,
      (ours, theirs) => String(ours).replaceAll('\n', '') === String(theirs).replaceAll('\n', ''),
    ),
  },
  {
    why: '4: count above 256',
    holds: member(/^getBlockTransactionsExt$/, /^req_count$/, (ours, theirs) => Number(ours) > 256 && theirs === 256),
  },
  { why: '4: vert_seqno is in no answer there', holds: member(/^getBlockHeader$/, /^vert_seqno$/, absent) },
  {
    why: '4: time of the newest block',
    holds: member(/^getConsensusBlock$/, /^timestamp$/, (ours) => Number.isInteger(ours)),
  },
  {
    why: '10: balance of a missing account',
    holds: member(/Information$/, /^balance$/, (ours, theirs) => ours === '0' && theirs === 0),
  },
  { why: '3: suspended is of C++ alone', holds: member(/^getAddressInformation$/, /^suspended$/, absent) },
  {
    why: '3: extra currencies of wallets are there alone',
    holds: member(/^getWalletInformation$/, /^extra_currencies$/, (ours) => ours === undefined),
  },
  {
    why: '3: types of wallets',
    holds: member(/^getWalletInformation$/, /^(wallet_type|wallet)$/, (_, theirs) => /nominator/.test(String(theirs))),
  },
  {
    why: '3: 64-bit numbers of wallets',
    holds: member(
      /^getExtendedAddressInformation$/,
      /^account_state\.wallet_id$/,
      (ours, theirs) => String(ours) === theirs,
    ),
  },
  {
    why: '10: alphabet of packAddress',
    holds: member(
      /^packAddress$/,
      /^result$/,
      (ours, theirs) => ours === String(theirs).replaceAll('+', '-').replaceAll('/', '_'),
    ),
  },
  {
    why: '2: letter case of addresses',
    holds: member(/^(unpackAddress|detectAddress)$/, /^(result|raw_form)$/, otherCase),
  },
  {
    why: '10: numbers of tokens',
    holds: member(/^getTokenData$/, /^(balance|total_supply|next_item_index|index)$/, asNumber),
  },
  { why: '3: the address is of C++ alone', holds: member(/^getTokenData$/, /^address$/, absent) },
  { why: '7: the bit that ends a cell', holds: member(/^runGetMethod$/, /object\..*b64$/, completed) },
];

/** A raw address with too few digits. */
function isShortAddress(difference: Difference): boolean {
  const { address } = difference.question.parameters;
  return status(422, 200)(difference) && typeof address === 'string' && /^(-?\d+:)?[0-9a-fA-F]{1,63}$/.test(address);
}
