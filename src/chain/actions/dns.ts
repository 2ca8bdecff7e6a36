/** TON DNS: TEP-81, and the items of the .ton collection. */
import { DecodeError } from '../errors.ts';
import { addressOrNone } from '../layouts/addresses.ts';
import { auctionFillUp, changeDnsRecord, changeDnsRecordHead, chunkedText, dnsBalanceRelease } from '../layouts/dns.ts';
import { bits256, u8 } from '../layouts/numbers.ts';
import { union, variant } from '../layouts/shapes.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, destinationOf, messageOf, sentValue, sourceOf } from './bodies.ts';
import type { Columns, Details } from './details.ts';
import { declare } from './kind.ts';
import type { KnownContracts, KnownNftItem } from './known.ts';
import { type Item, itemDetails, itemOf } from './nfts.ts';
import { BOUNCED, type Match, type Pattern } from './pattern.ts';
import { callContract } from './ton.ts';
import type { RawAddress } from './trace.ts';

const TON_COLLECTION = '0:B774D95EB20543F186C06B371AB88AD704F7E256130CAF96189368A7D0CB6CCF';
const TON_ITEM_CODE = 'i1/8nr/TkGTY1fVuRlnIJrt1k5I/XKSHKL5NYK9vUfk=';

/** Whether an item is a name under .ton. */
export function isTonName({ codeHash, collection }: KnownNftItem): boolean {
  return codeHash === TON_ITEM_CODE || collection === TON_COLLECTION;
}

interface Change {
  key: string;
  source: RawAddress | null;
  item: RawAddress;
  collection: RawAddress | null;
}

/** A call to set a record. What comes back as excess is not part of it. */
const change: Pattern = { op: changeDnsRecord.opcode, child: { op: BOUNCED, optional: true, returns: false } };

const changeAccounts = ({ source, item }: Change): Columns => ({ source, destination: item });

/** What all changes have, and whether there is a value. */
function readChange({ head }: Match, known: KnownContracts): { data: Change; hasValue: boolean; failed: boolean } {
  const cursor = messageOf(head).body().cursor();
  const { key } = changeDnsRecordHead.read(cursor);
  const item = destinationOf(head);
  return {
    data: {
      key: key.toString('hex'),
      source: messageOf(head).source,
      item,
      collection: known.nftItem(item)?.collection ?? null,
    },
    hasValue: cursor.refsLeft > 0,
    failed: head.failed,
  };
}

const RENEWAL = '0'.repeat(64);

/** A text of one chunk; the reference reads no longer ones, and takes what sets one for a call. */
const shortText: typeof chunkedText = {
  ...chunkedText,
  read(cursor) {
    const { at } = cursor;
    if (cursor.u(8) > 1) throw new DecodeError('a text of several chunks');
    cursor.at = at;
    return chunkedText.read(cursor);
  },
};

/** Records as they are named in print. What follows the flags is not told. External addresses are refused. */
const dnsValue = union(
  'DNSRecord',
  variant('DNSSmcAddress', 16, 0x9fd3, { address: addressOrNone, flags: u8 }),
  variant('DNSAdnlAddress', 16, 0xad01, { adnl: bits256, flags: u8 }),
  variant('DNSNextResolver', 16, 0xba93, { resolver: addressOrNone }),
  variant('DNSStorageAddress', 16, 0x7473, { bag: bits256 }),
  variant('DNSText', 16, 0x1eda, { text: shortText }),
);

const TAGS: ReadonlySet<number> = new Set([0x9fd3, 0xad01, 0xba93, 0x7473, 0x1eda]);

/** The record that a change sets, as it is printed. Throws DecodeError for one without a tag. */
function readValue(head: Block): Details {
  const cursor = messageOf(head).body().cursor();
  changeDnsRecordHead.read(cursor);
  const at = cursor.open();
  const value = {
    sum_type: 'Unknown',
    dns_smc_address: null,
    dns_adnl_address: null,
    dns_text: null,
    dns_next_resolver_address: null,
    dns_storage_address: null,
    flags: null,
  };
  if (!TAGS.has(at.u(16))) return value;
  at.at -= 16;
  const record = dnsValue.read(at);
  const sum_type = record.kind;
  switch (record.kind) {
    case 'DNSSmcAddress':
      return { ...value, sum_type, dns_smc_address: addressText(record.address), flags: record.flags };
    case 'DNSAdnlAddress':
      return { ...value, sum_type, dns_adnl_address: record.adnl.toString('hex'), flags: record.flags };
    case 'DNSNextResolver':
      return { ...value, sum_type, dns_next_resolver_address: addressText(record.resolver) };
    case 'DNSStorageAddress':
      return { ...value, sum_type, dns_storage_address: record.bag.toString('hex') };
    case 'DNSText':
      // Clients know it there: the key of its own was never filled.
      return { ...value, sum_type, dns_storage_address: record.text };
  }
}

export const changeDns = declare<Change & { value: Details }>({
  block: 'change_dns',
  groups: ['v1', 'dns'],
  leaf: true,
  matchers: [
    {
      rank: 33,
      pattern: change,
      read(found, known) {
        const { data, hasValue, failed } = readChange(found, known);
        return hasValue ? { data: { ...data, value: readValue(found.head) }, failed } : null;
      },
    },
  ],
  details: ({ key, value, source, item, collection }) => ({
    key,
    value,
    source,
    asset: item,
    nft_collection: collection,
  }),
  accounts: changeAccounts,
});

export const deleteDns = declare<Change>({
  block: 'delete_dns',
  groups: ['v1', 'dns'],
  leaf: true,
  matchers: [
    {
      rank: 33.1,
      pattern: change,
      read(found, known) {
        const { data, hasValue, failed } = readChange(found, known);
        return hasValue || data.key === RENEWAL ? null : { data, failed };
      },
    },
  ],
  details: ({ key, source, item, collection }) => ({ hash: key, source, asset: item, nft_collection: collection }),
  accounts: changeAccounts,
});

export const renewDns = declare<Change>({
  block: 'renew_dns',
  groups: ['v1', 'dns'],
  leaf: true,
  matchers: [
    {
      rank: 33.2,
      pattern: change,
      read(found, known) {
        const { data, hasValue, failed } = readChange(found, known);
        return hasValue || data.key !== RENEWAL ? null : { data, failed };
      },
    },
  ],
  details: ({ source, item, collection }) => ({ source, asset: item, nft_collection: collection }),
  accounts: changeAccounts,
});

interface Release {
  item: Item;
  queryId: Decimal | null;
  source: RawAddress | null;
  value: Decimal;
}

/** The query id behind an opcode, null where there is none. */
function queryIdOf(block: Block): Decimal | null {
  const cursor = messageOf(block).body().cursor();
  cursor.skip(32);
  return cursor.bitsLeft < 64 ? null : cursor.dec(64);
}

/** A name that was not renewed in time was taken from its owner. */
export const dnsRelease = declare<Release>({
  block: 'dns_release',
  groups: ['v3', 'dns', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 23,
      pattern: { op: dnsBalanceRelease.opcode },
      read({ head }, known) {
        const address = destinationOf(head);
        const record = known.nftItem(address);
        if (record === undefined || !isTonName(record)) return null;
        return {
          data: {
            item: itemOf(address, record),
            queryId: queryIdOf(head),
            source: messageOf(head).source,
            value: sentValue(head),
          },
          failed: head.node.transaction.aborted,
        };
      },
    },
  ],
  details: ({ item, queryId, source, value }) => ({ query_id: queryId, source, ...itemDetails(item), value }),
  accounts: ({ item, source }) => ({ source, destination: item.address }),
});

interface Purchase {
  item: Item;
  newOwner: RawAddress | null;
  price: Decimal;
  queryId: Decimal | null;
}

/** A name pays its collection what the winner of its auction bid. */
export const dnsPurchase = declare<Purchase>({
  block: 'dns_purchase',
  groups: ['v3', 'dns', 'nft.v3'],
  leaf: false,
  matchers: [
    {
      rank: 24,
      pattern: { op: auctionFillUp.opcode },
      read({ head }, known) {
        const address = sourceOf(head);
        const record = known.nftItem(address);
        const before = callContract.of(head.prev);
        if (record === undefined || before === null || !isTonName(record)) return null;
        return {
          data: {
            item: itemOf(address, record),
            newOwner: before.source,
            price: sentValue(head),
            queryId: queryIdOf(head),
          },
          failed: head.node.transaction.aborted,
        };
      },
    },
  ],
  details: ({ item, newOwner, price, queryId }) => ({
    ...itemDetails(item),
    new_owner: newOwner,
    price,
    query_id: queryId,
    payout_amount: price,
  }),
  accounts: ({ newOwner }) => ({ destination: newOwner }),
});

export const kinds = [changeDns, deleteDns, renewDns, dnsRelease, dnsPurchase];
