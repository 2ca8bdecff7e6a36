/** TON DNS: TEP-81, the items of its collections, records by category. */
import { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { internalAddress } from './addresses.ts';
import type { Codec, Printer } from './codec.ts';
import { body } from './layout.ts';
import { bitHex, bits256, u64 } from './numbers.ts';
import { flagged, ref, tagged, union, type Variant, variant } from './shapes.ts';
import { utf8 } from './texts.ts';

/** `Text`: a count of chunks, each with its length and its bytes, all but the first in references. */
export const chunkedText: Codec<string> = {
  read(cursor) {
    const parts: Buffer[] = [];
    let current = cursor;
    for (let left = cursor.u(8); left > 0; left--) {
      parts.push(current.bytes(current.u(8)));
      if (left > 1) current = current.open();
    }
    return utf8(Buffer.concat(parts));
  },
  write(builder, value) {
    const bytes = Buffer.from(value);
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += CHUNK_BYTES) chunks.push(bytes.subarray(at, at + CHUNK_BYTES));
    builder.u(chunks.length, 8);
    writeChunks(builder, chunks);
  },
  print(cursor, printer) {
    const chunks = cursor.u(8);
    return `{"@type":"text","chunks":"${chunks}","rest":${printChunks(cursor, printer, chunks)}}`;
  },
  sample: (chance) => 'ton '.repeat(chance.below(50)),
};

/** So much fits beside the fields of any record. */
const CHUNK_BYTES = 64;

function writeChunks(builder: Builder, chunks: readonly Buffer[]): void {
  if (chunks.length === 0) return;
  builder.u(chunks[0].length, 8).bytes(chunks[0]);
  if (chunks.length === 1) return;
  const next = new Builder();
  writeChunks(next, chunks.slice(1));
  builder.ref(next.cell());
}

function printChunks(cursor: Cursor, printer: Printer, left: number): string {
  if (left === 0) return '{"@type":"text_chunk_empty"}';
  printer.step();
  const length = cursor.u(8);
  const data = bitHex(cursor, length * 8);
  const next =
    left === 1
      ? '{"@type":"chunk_ref_empty"}'
      : `{"@type":"chunk_ref","ref":${printChunks(cursor.open(), printer, left - 1)}}`;
  return `{"@type":"text_chunk","len":"${length}","data":"${data}","next":${next}}`;
}

/** A list whose items each have a 1 before them, and a 0 at its end. */
function bitList<T>(name: string, item: Codec<T>): Codec<T[]> {
  return {
    read(cursor) {
      const items: T[] = [];
      while (cursor.bit()) items.push(item.read(cursor));
      return items;
    },
    write(builder, items) {
      for (const one of items) {
        builder.bit(1);
        item.write(builder, one);
      }
      builder.bit(0);
    },
    print(cursor, printer) {
      let text = '';
      let depth = 0;
      for (; cursor.bit(); depth++) {
        printer.step();
        text += `{"@type":"${name}_next","item":${item.print(cursor, printer)},"next":`;
      }
      return `${text}{"@type":"${name}_nil"}${'}'.repeat(depth)}`;
    },
    sample: (chance) => Array.from({ length: chance.below(3) }, () => item.sample(chance)),
  };
}

const protocol = union('Protocol', variant('proto_http', 16, 0x4854, {}));

const capability = union(
  'SmcCapability',
  variant('cap_method_seqno', 16, 0x5371, {}),
  variant('cap_method_pubkey', 16, 0x71f4, {}),
  variant('cap_is_wallet', 16, 0x2177, {}),
  variant('cap_name', 8, 0xff, { name: chunkedText }),
);

/** `DNSRecord`: what a name means for a category. */
export const dnsRecord = union(
  'DNSRecord',
  variant('dns_text', 16, 0x1eda, { text: { ...chunkedText, printedName: '' } }),
  variant('dns_next_resolver', 16, 0xba93, { resolver: internalAddress }),
  flaggedVariant('dns_adnl_address', 0xad01, { adnl_addr: bits256 }, 'proto_list', bitList('proto_list', protocol)),
  flaggedVariant('dns_smc_address', 0x9fd3, { smc_addr: internalAddress }, 'cap_list', bitList('cap_list', capability)),
  variant('dns_storage_address', 16, 0x7473, { bag_id: bits256 }),
);

type Flagged = typeof flagged;

function flaggedVariant<N extends string, F extends Parameters<Flagged>[1], L extends string, T>(
  name: N,
  tag: number,
  fields: F,
  list: L,
  codec: Codec<T>,
) {
  const variantFields = flagged(name, fields, list, codec);
  return { name, tagBits: 16, tag, fields: variantFields } satisfies Variant<N, unknown>;
}

/** Sets a record. Without the reference it deletes one, with the key 0 it renews the name; those do not parse. */
export const changeDnsRecord = body('change_dns_record', 0x4eb1f0f9, {
  query_id: u64,
  key: bits256,
  value: ref(dnsRecord),
});

/** All of {@link changeDnsRecord} that is there in each of its uses. */
export const changeDnsRecordHead = tagged('change_dns_record', 32, 0x4eb1f0f9, { query_id: u64, key: bits256 });

export const dnsBalanceRelease = body('dns_balance_release', 0x4ed14b65, { query_id: u64 });
export const auctionFillUp = body('auction_fill_up', 0x370fec51, { query_id: u64 });
export const outbidNotification = body('outbid_notification', 0x557cea20, { query_id: u64 });
export const processGovernanceDecision = body('process_governance_decision', 0x44beae41, { query_id: u64 });

export const dnsBodies = [
  changeDnsRecord,
  dnsBalanceRelease,
  auctionFillUp,
  outbidNotification,
  processGovernanceDecision,
];
