/** What a name leads to: DNS records of TEP-81. */
import { createHash } from 'node:crypto';
import { dnsRecords } from '../../../clickhouse/tables/nfts.ts';
import { Builder, type Cell, type Slice } from '../../../src/chain/builder.ts';
import { findLeaf } from '../../../src/chain/dictionary.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import type { Address, Hash } from '../../../src/chain/model.ts';
import { readDomain } from './domains.ts';
import { kind } from './kinds.ts';
import { itemState, nftItem } from './nfts.ts';
import { addressIn, intArgument, OtherKind, type Results } from './stack.ts';

const keyOf = (name: string): Buffer => createHash('sha256').update(name).digest();
const KEYS = {
  nextResolver: keyOf('dns_next_resolver'),
  wallet: keyOf('wallet'),
  site: keyOf('site'),
  storage: keyOf('storage'),
};

/** `dns_smc_address`, `dns_next_resolver`, `dns_adnl_address`, `dns_storage_address` (crypto/block/block.tlb). */
const SMC_ADDRESS = 0x9fd3;
const NEXT_RESOLVER = 0xba93;
const ADNL_ADDRESS = 0xad01;
const STORAGE_ADDRESS = 0x7473;

/** A name with what it leads to: an item of a collection of domains that resolves itself. */
export const dnsRecord = kind('dns_record', dnsRecords, { methods: ['get_nft_data'] }, async (subject, ask) => {
  const { collection } = await itemState(subject, ask);
  if (collection === null || !ask.isDnsCollection(collection)) {
    throw new OtherKind('no item of a collection of domains');
  }
  const item = await nftItem.detect(subject, ask);
  const domain = await readDomain(subject, ask);
  if (domain === null) throw new OtherKind('it tells no domain');
  const root = rootOf(await ask.call(subject, 'dnsresolve', [ITSELF, intArgument(0n)]));
  return {
    domain,
    nftItemOwner: item.ownerAddress,
    dnsNextResolver: addressAt(root, KEYS.nextResolver, NEXT_RESOLVER),
    dnsWallet: addressAt(root, KEYS.wallet, SMC_ADDRESS),
    dnsSiteAdnl: hashAt(root, KEYS.site, ADNL_ADDRESS),
    dnsStorageBagId: hashAt(root, KEYS.storage, STORAGE_ADDRESS),
  };
});

/** A zero byte: the domain itself. */
const ITSELF = { type: 'slice', cell: new Builder().u(0, 8).cell() } as const;

function rootOf(results: Results): Cell | null {
  if (results.length !== 2 || results.big(0) !== 8n) throw new OtherKind('it does not resolve itself');
  const root = results.cellOrNull(1);
  if (root === null) return null;
  try {
    findLeaf(root, 256, KEYS.wallet);
  } catch (error) {
    if (error instanceof DecodeError) throw new OtherKind('its records are broken', { cause: error });
    throw error;
  }
  return root;
}

/** A record that does not parse is none. */
function recordAt<T>(root: Cell | null, key: Buffer, read: (record: Slice) => T): T | null {
  try {
    const leaf = findLeaf(root, 256, key);
    return leaf === null ? null : read(leaf.refsLeft > 0 ? leaf.open() : leaf);
  } catch (error) {
    if (error instanceof DecodeError || error instanceof OtherKind) return null;
    throw error;
  }
}

const addressAt = (root: Cell | null, key: Buffer, tag: number): Address | null =>
  recordAt(root, key, (record) => addressIn(record.tag(16, tag, 'DNSRecord')));

const hashAt = (root: Cell | null, key: Buffer, tag: number): Hash | null =>
  recordAt(root, key, (record) => record.tag(16, tag, 'DNSRecord').bytes(32));
