/** What a page says without a script: its title and the facts of its transaction, account, jetton or block. */
import { parseAddress, parseHash, parseShard, rawAddress, shardText } from '../chain/address.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Decimal } from '../chain/model.ts';
import type { QueryContext } from '../chain/records.ts';
import { failureOf } from './chain-view.ts';

export interface Facts {
  title: string;
  /** Names and values, plain text. */
  pairs: readonly (readonly [string, string])[];
}

const ONE = { limit: 1, offset: 0 };
const MASTERCHAIN_SHARD = '8000000000000000';

type Finder = (subject: string, source: ChainSource, context: QueryContext) => Promise<Facts | null>;

/** By the first part of the path; the others have nothing to say in advance. */
export const FINDERS: Readonly<Record<string, Finder>> = { tx: transaction, account, jetton, block };

async function transaction(subject: string, source: ChainSource, context: QueryContext): Promise<Facts | null> {
  const hash = parseHash(subject);
  if (hash === null) return null;
  const filter = { accounts: [], excludeAccounts: [], hashes: [hash], utime: {}, ltWindow: {}, sort: 'desc' as const };
  const [found] = (await source.transactions({ ...filter, page: ONE }, context)).rows;
  if (found === undefined) return null;
  const { account: of, lt, now, totalFees, inMsg, hash: own } = found.transaction;
  return {
    title: `Transaction ${own.toString('base64')}`,
    pairs: [
      ['Account', rawAddress(of)],
      ['Time', time(now)],
      ['Block', blockName(found.block)],
      ['Masterchain block', String(found.mcSeqno)],
      ['Logical time', lt],
      ...(inMsg?.value ? [['Value', tons(inMsg.value)] as const] : []),
      ['Fees', tons(totalFees)],
      ['Outcome', failureOf(found) ?? 'success'],
    ],
  };
}

async function account(subject: string, source: ChainSource, context: QueryContext): Promise<Facts | null> {
  const address = parseAddress(subject);
  if (address === null) return null;
  const [found] = await source.accountStates([address], [], 'none', context);
  if (found === undefined) return null;
  return {
    title: `Account ${rawAddress(address)}`,
    pairs: [
      ['Raw address', rawAddress(address)],
      ['Status', found.status],
      ['Balance', tons(found.balance)],
      ['Last transaction', found.lastTransactionHash.toString('base64')],
      ['Logical time', found.lastTransactionLt],
    ],
  };
}

async function jetton(subject: string, source: ChainSource, context: QueryContext): Promise<Facts | null> {
  const address = parseAddress(subject);
  if (address === null) return null;
  const [found] = await source.contracts.jettonMasters({ addresses: [address], admins: [], page: ONE }, context);
  if (found === undefined) return null;
  return {
    title: `Jetton ${rawAddress(address)}`,
    pairs: [
      ['Raw address', rawAddress(address)],
      ['Supply, in smallest units', found.totalSupply],
      ['Mintable', found.mintable ? 'yes' : 'no'],
      ['Admin', found.adminAddress === null ? 'none' : rawAddress(found.adminAddress)],
    ],
  };
}

/** `workchain,shard,seqno`, brackets allowed, or a masterchain seqno. */
async function block(subject: string, source: ChainSource, context: QueryContext): Promise<Facts | null> {
  const words = subject.replace(/[()\s]/g, '').split(',');
  const [workchain, shard, seqno] = words.length === 3 ? words : ['-1', MASTERCHAIN_SHARD, words[0]];
  const digits = parseShard(shard);
  if (digits === null || !/^-?\d{1,10}$/.test(workchain) || !/^\d{1,10}$/.test(seqno)) return null;
  const place = { workchain: Number(workchain), shard: digits, seqno: Number(seqno) };
  if (place.seqno >= 2 ** 31 || Math.abs(place.workchain) >= 2 ** 31) return null;
  const filter = { ...place, utime: {}, lt: {}, sort: 'desc' as const, page: ONE };
  const [found] = (await source.blocks(filter, context)).rows;
  if (found === undefined) return null;
  const { header, txCount, mcSeqno } = found;
  return {
    title: header.workchain === -1 ? `Masterchain block ${header.seqno}` : `Block ${blockName(header)}`,
    pairs: [
      ['Time', time(header.genUtime)],
      ['Transactions', String(txCount)],
      ['Masterchain block', String(mcSeqno)],
      ['Logical times', `${header.startLt} to ${header.endLt}`],
      ['Root hash', header.rootHash.toString('base64')],
      ['File hash', header.fileHash.toString('base64')],
    ],
  };
}

const blockName = ({ workchain, shard, seqno }: { workchain: number; shard: string; seqno: number }): string =>
  `${workchain}:${shardText(shard)}:${seqno}`;

const time = (utime: number): string => new Date(utime * 1000).toISOString().replace('T', ' ').replace('.000Z', ' UTC');

/** All digits of nanotons. */
function tons(nanotons: Decimal): string {
  const digits = nanotons.padStart(10, '0');
  const fraction = digits.slice(-9).replace(/0+$/, '');
  return `${digits.slice(0, -9)}${fraction === '' ? '' : `.${fraction}`} TON`;
}

const MARKUP: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => MARKUP[sign]);

const TITLE = '<title>tonstream</title>';
const NOSCRIPT = '<noscript>';

/**
 * The page with them: as its title, and for browsers without scripts in its middle.
 * @throws Error for a page without the places
 */
export function withFacts(html: string, { title, pairs }: Facts): string {
  if (!html.includes(TITLE) || !html.includes(NOSCRIPT)) throw new Error('the page has no place for facts');
  const list = pairs.map(([name, value]) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`).join('');
  const section = `<h1>${escaped(title)}</h1><section class="card" aria-label="Facts"><dl class="facts">${list}</dl></section>`;
  return html
    .replace(TITLE, () => `<title>${escaped(title)} · tonstream</title>`)
    .replace(NOSCRIPT, () => `${NOSCRIPT}${section}`);
}
