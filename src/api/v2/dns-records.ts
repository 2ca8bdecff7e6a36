/** Records of TON DNS (TEP-81) as v2 shows them. */
import { createHash } from 'node:crypto';
import { addressOf } from '../../chain/address.ts';
import { type Cell, Slice } from '../../chain/builder.ts';
import { crc16 } from '../../chain/crc.ts';
import { eachLeaf } from '../../chain/dictionary.ts';
import { DecodeError } from '../../chain/errors.ts';
import type { Address, Hash } from '../../chain/model.ts';
import type { CellText } from '../stack-cells.ts';
import { accountAddress } from './render/values.ts';

export type DnsRecord =
  | { type: 'text'; text: string }
  | { type: 'next_resolver' | 'smc_address'; address: Address }
  | { type: 'adnl_address'; adnl: Hash }
  | { type: 'storage_address'; bag: Hash }
  | { type: 'unknown'; cell: Cell };

const TAGS = { text: 0x1eda, nextResolver: 0xba93, adnl: 0xad01, contract: 0x9fd3, storage: 0x7473 } as const;

/** One that cannot be read is unknown. */
export function readRecord(cell: Cell): DnsRecord {
  try {
    return recordOf(new Slice(cell)) ?? { type: 'unknown', cell };
  } catch (error) {
    if (error instanceof DecodeError) return { type: 'unknown', cell };
    throw error;
  }
}

function recordOf(slice: Slice): DnsRecord | null {
  switch (slice.u(16)) {
    case TAGS.text:
      return { type: 'text', text: readText(slice) };
    case TAGS.nextResolver:
      return { type: 'next_resolver', address: readAddress(slice) };
    case TAGS.contract:
      return { type: 'smc_address', address: readAddress(slice) };
    case TAGS.adnl:
      return { type: 'adnl_address', adnl: slice.bytes(32) };
    case TAGS.storage:
      return { type: 'storage_address', bag: slice.bytes(32) };
    default:
      return null;
  }
}

function readAddress(slice: Slice): Address {
  slice.tag(3, 4, 'addr_std without anycast');
  return addressOf(slice.i(8), slice.bytes(32));
}

/** `Text`: chunks, each with its length, in cells one behind the other. */
function readText(slice: Slice): string {
  const parts: Buffer[] = [];
  let at = slice;
  for (let left = slice.u(8); left > 0; left--) {
    parts.push(at.bytes(at.u(8)));
    if (left > 1) at = at.open();
  }
  return Buffer.concat(parts).toString('utf8');
}

/** Of one name: a few cells that refer to each other stand for any number. */
const MAX_RECORDS = 256;

/** The records of a dictionary by category (`Hashmap 256 ^DNSRecord`). Throws DecodeError. */
export function readRecords(dictionary: Cell): { category: Hash; record: DnsRecord }[] {
  const records: { category: Hash; record: DnsRecord }[] = [];
  let leaves = 0;
  eachLeaf(dictionary, 256, (leaf, key) => {
    if (++leaves > MAX_RECORDS) throw new DecodeError(`more than ${MAX_RECORDS} records`);
    if (leaf.refsLeft > 0) records.push({ category: Buffer.from(key), record: readRecord(leaf.ref()) });
  });
  return records;
}

export function categoryOf(name: string): Hash {
  return createHash('sha256').update(name).digest();
}

const NAMED = new Map(
  ['wallet', 'site', 'storage', 'dns_next_resolver'].map((name) => [categoryOf(name).toString('hex'), name]),
);

/** Records by category as the content of an item shows them; those of other kinds are left out. */
export function recordsContent(records: readonly { category: Hash; record: DnsRecord }[]): Record<string, object> {
  const data: Record<string, object> = {};
  for (const { category, record } of records) {
    const hex = category.toString('hex');
    const shown = contentOf(record);
    if (shown !== null) data[NAMED.get(hex) ?? hex.toUpperCase()] = shown;
  }
  return data;
}

function contentOf(record: DnsRecord): object | null {
  switch (record.type) {
    case 'next_resolver':
      return { '@type': 'dns_next_resolver', resolver: standardAddress(record.address) };
    case 'smc_address':
      return { '@type': 'dns_smc_address', smc_addr: standardAddress(record.address) };
    case 'adnl_address':
      return { '@type': 'dns_adnl_address', adnl_addr: record.adnl.toString('hex') };
    case 'storage_address':
      return { '@type': 'dns_storage_address', bag_id: record.bag.toString('hex') };
    default:
      return null;
  }
}

function standardAddress(address: Address): object {
  const workchain = (address.readUInt32BE(0) ^ 0x80000000) | 0;
  return { '@type': 'addr_std', workchain_id: workchain, address: address.toString('hex', 4) };
}

/** A record as `dnsResolve` shows it. Throws Refusal where the cells of an answer are too long. */
export function entryData(record: DnsRecord, cellText: CellText): object {
  switch (record.type) {
    case 'text':
      return { '@type': 'dns.entryDataText', text: record.text };
    case 'next_resolver':
      return { '@type': 'dns.entryDataNextResolver', resolver: accountAddress(record.address) };
    case 'smc_address':
      return { '@type': 'dns.entryDataSmcAddress', smc_address: accountAddress(record.address) };
    case 'adnl_address': {
      const adnl = { '@type': 'adnlAddress', adnl_address: adnlText(record.adnl) };
      return { '@type': 'dns.entryDataAdnlAddress', adnl_address: adnl };
    }
    case 'storage_address':
      return { '@type': 'dns.entryDataStorageAddress', bag_id: record.bag.toString('hex') };
    case 'unknown':
      return { '@type': 'dns.entryDataUnknown', bytes: cellText(record.cell) };
  }
}

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567';

/** As tonlib writes it: a tag, the id and a checksum in base32, without the first letter, which is always the same. */
function adnlText(id: Hash): string {
  const body = Buffer.concat([Buffer.from([0x2d]), id]);
  const bytes = Buffer.concat([body, Buffer.alloc(2)]);
  bytes.writeUInt16BE(crc16(body), 33);
  let text = '';
  for (let bit = 0; bit < bytes.length * 8; bit += 5) {
    let digit = 0;
    for (let i = bit; i < bit + 5; i++) digit = (digit << 1) | ((bytes[i >> 3] >> (7 - (i & 7))) & 1);
    text += BASE32[digit];
  }
  return text.slice(1);
}
