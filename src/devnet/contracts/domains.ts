/** The devnet's names: root, collection and items (TEP-81), messages, and what their data hold. */
import { createHash } from 'node:crypto';
import { Address, beginCell, type Cell, comment, contractAddress } from '@ton/core';
import { CODES } from './codes.ts';
import { codeCell } from './content.ts';

export const DNS_OPS = { changeRecord: 0x4eb1f0f9, release: 0x4ed14b65 } as const;

export const dnsRootCode: Cell = codeCell(CODES.dnsRoot);
export const domainCollectionCode: Cell = codeCell(CODES.domainCollection);
export const domainItemCode: Cell = codeCell(CODES.domainItem);

/** Where the collection of the names under .ton is: as on the network that clients know it of. */
export const domainsAddress: Address = Address.parseRaw(
  '0:b774d95eb20543f186c06b371ab88ad704f7e256130caf96189368a7d0cb6ccf',
);

/** Seconds after which a name that was not renewed is free to be released. */
export const LEASE_S = 90;

export const dnsRootData: Cell = beginCell().storeAddress(domainsAddress).endCell();

export function domainCollectionData(content: Cell): Cell {
  return beginCell().storeRef(content).storeRef(domainItemCode).endCell();
}

/** The same as the collection's get_nft_address_by_index of the domain's hash. `domain` without `.ton`. */
export function domainAddress(domain: string): Address {
  const index = beginCell().storeBuffer(Buffer.from(domain)).endCell().hash();
  const data = beginCell().storeBuffer(index).storeAddress(domainsAddress).endCell();
  return contractAddress(0, { code: domainItemCode, data });
}

export interface Domain {
  index: bigint;
  collection: Address;
  /** Null while there is an auction. */
  owner: Address | null;
  /** Without `.ton`. */
  domain: string;
  auction: { maxBidder: Address; maxBid: bigint; endTime: number } | null;
  /** Unix seconds of the last renewal. */
  renewedAt: number;
}

/** Null for an item that its collection has not made yet. */
export function readDomain(data: Cell): Domain | null {
  if (data.refs.length === 0) return null;
  const slice = data.beginParse();
  const index = slice.loadUintBig(256);
  const collection = slice.loadAddress();
  const owner = slice.loadMaybeAddress();
  slice.loadRef();
  const domain = slice.loadRef().beginParse();
  const auction = slice.loadMaybeRef()?.beginParse() ?? null;
  return {
    index,
    collection,
    owner,
    domain: domain.loadBuffer(domain.remainingBits / 8).toString(),
    auction:
      auction === null
        ? null
        : { maxBidder: auction.loadAddress(), maxBid: auction.loadCoins(), endTime: auction.loadUint(64) },
    renewedAt: slice.loadUint(64),
  };
}

/** To be sent to the collection: the name without `.ton`. What is sent with it is the first bid. */
export function newDomain(domain: string): Cell {
  return comment(domain);
}

export const DNS_CATEGORIES = {
  wallet: sha256('wallet'),
  site: sha256('site'),
  storage: sha256('storage'),
  nextResolver: sha256('dns_next_resolver'),
  text: sha256('text'),
} as const;
export type DnsCategory = keyof typeof DNS_CATEGORIES;

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

export type DnsRecord =
  | { category: 'wallet' | 'nextResolver'; address: Address }
  /** ADNL address or bag id: 32 bytes. */
  | { category: 'site' | 'storage'; id: Buffer }
  | { category: 'text'; text: string };

function recordCell(record: DnsRecord): Cell {
  switch (record.category) {
    case 'wallet':
      return beginCell().storeUint(0x9fd3, 16).storeAddress(record.address).storeUint(0, 8).endCell();
    case 'nextResolver':
      return beginCell().storeUint(0xba93, 16).storeAddress(record.address).endCell();
    case 'site':
      return beginCell().storeUint(0xad01, 16).storeBuffer(record.id).storeUint(0, 8).endCell();
    case 'storage':
      return beginCell().storeUint(0x7473, 16).storeBuffer(record.id).endCell();
    case 'text': {
      // One chunk, of at most 255 bytes.
      const bytes = Buffer.from(record.text);
      return beginCell().storeUint(0x1eda, 16).storeUint(1, 8).storeUint(bytes.length, 8).storeBuffer(bytes).endCell();
    }
  }
}

function change(queryId: bigint, key: Buffer): ReturnType<typeof beginCell> {
  return beginCell().storeUint(DNS_OPS.changeRecord, 32).storeUint(queryId, 64).storeBuffer(key);
}

/** To be sent to an item by its owner. */
export function setRecord(queryId: bigint, record: DnsRecord): Cell {
  return change(queryId, DNS_CATEGORIES[record.category]).storeRef(recordCell(record)).endCell();
}

/** To be sent to an item by its owner. */
export function deleteRecord(queryId: bigint, category: DnsCategory): Cell {
  return change(queryId, DNS_CATEGORIES[category]).endCell();
}

/** To be sent to an item by its owner. */
export function renewDomain(queryId: bigint): Cell {
  return change(queryId, Buffer.alloc(32)).endCell();
}

/** To be sent to an item that was not renewed; what is sent with it is the first bid. */
export function releaseDomain(queryId: bigint): Cell {
  return beginCell().storeUint(DNS_OPS.release, 32).storeUint(queryId, 64).endCell();
}
