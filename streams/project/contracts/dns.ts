/** What a name leads to: DNS records of TEP-81. */
import { createHash } from 'node:crypto';
import { dnsRecords } from '../../../clickhouse/tables/nfts.ts';
import { Builder, type Cell } from '../../../src/chain/builder.ts';
import { findLeaf } from '../../../src/chain/dictionary.ts';
import { DecodeError } from '../../../src/chain/errors.ts';
import { CellView } from '../../../src/chain/layouts/cell-view.ts';
import type { ValueOf } from '../../../src/chain/layouts/codec.ts';
import { dnsRecord as dnsRecordLayout } from '../../../src/chain/layouts/dns.ts';
import { readDomain } from './domains.ts';
import { kind } from './kinds.ts';
import { itemState, nftItem } from './nfts.ts';
import { intArgument, OtherKind, type Results, reading } from './stack.ts';

const keyOf = (name: string): Buffer => createHash('sha256').update(name).digest();
const KEYS = {
  nextResolver: keyOf('dns_next_resolver'),
  wallet: keyOf('wallet'),
  site: keyOf('site'),
  storage: keyOf('storage'),
};

/** A name with what it leads to: an item of a collection of domains that resolves itself. */
export const dnsRecord = kind('dns_record', dnsRecords, { methods: ['get_nft_data'] }, async (subject, ask) => {
  const { collection } = await itemState(subject, ask);
  if (collection === null || !ask.isDnsCollection(collection)) {
    throw new OtherKind('no item of a collection of domains');
  }
  const item = await nftItem.detect(subject, ask);
  const domain = await readDomain(subject, ask);
  if (domain === null) throw new OtherKind('it tells no domain');
  const records = recordsOf(await ask.call(subject, 'dnsresolve', [ITSELF, intArgument(0n)]));
  return {
    domain,
    nftItemOwner: item.ownerAddress,
    dnsNextResolver: recordOf(records.nextResolver, 'dns_next_resolver')?.resolver ?? null,
    dnsWallet: recordOf(records.wallet, 'dns_smc_address')?.smc_addr ?? null,
    dnsSiteAdnl: recordOf(records.site, 'dns_adnl_address')?.adnl_addr ?? null,
    dnsStorageBagId: recordOf(records.storage, 'dns_storage_address')?.bag_id ?? null,
  };
});

/** A zero byte: the domain itself. */
const ITSELF = { type: 'slice', cell: new Builder().u(0, 8).cell() } as const;

/** The records that are shown, each a cell of its own. */
function recordsOf(results: Results): Record<keyof typeof KEYS, Cell | null> {
  if (results.length !== 2 || results.big(0) !== 8n) throw new OtherKind('it does not resolve itself');
  const root = results.cellOrNull(1);
  return reading(() => ({
    nextResolver: referenceAt(root, KEYS.nextResolver),
    wallet: referenceAt(root, KEYS.wallet),
    site: referenceAt(root, KEYS.site),
    storage: referenceAt(root, KEYS.storage),
  }));
}

function referenceAt(root: Cell | null, key: Buffer): Cell | null {
  const leaf = findLeaf(root, 256, key);
  if (leaf === null) return null;
  if (leaf.bitsLeft !== 0 || leaf.refsLeft !== 1) throw new DecodeError('a value that is no reference');
  return leaf.ref();
}

type AnyRecord = ValueOf<typeof dnsRecordLayout>;

/** A record that does not parse, to its end, or is of another kind is none. */
function recordOf<K extends AnyRecord['kind']>(cell: Cell | null, kind: K): Extract<AnyRecord, { kind: K }> | null {
  if (cell === null) return null;
  try {
    const cursor = CellView.from(cell).cursor();
    const record = dnsRecordLayout.read(cursor);
    const isWhole = cursor.bitsLeft === 0 && cursor.refsLeft === 0;
    return isWhole && isKind(record, kind) ? record : null;
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

function isKind<K extends AnyRecord['kind']>(record: AnyRecord, kind: K): record is Extract<AnyRecord, { kind: K }> {
  return record.kind === kind;
}
