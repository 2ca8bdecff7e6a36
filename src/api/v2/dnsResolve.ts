/** Names of TON DNS (TEP-81), from a resolver on. */
import { z } from 'zod';
import type { Cell } from '../../chain/builder.ts';
import { Builder } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import type { Address, Hash } from '../../chain/model.ts';
import { methodId } from '../../tvm/contract.ts';
import { Refusal } from '../errors.ts';
import { scalar } from '../parameters.ts';
import { RESULT_LIMITS, running } from '../running.ts';
import { createCellText } from '../stack-cells.ts';
import { categoryOf, type DnsRecord, entryData, readRecord, readRecords } from './dns-records.ts';
import { address, check, int32, required } from './parameters.ts';
import { type Asked, type Route, route } from './route.ts';

/** Resolvers asked one after the other at most: more than a name of 126 bytes has parts. */
const MAX_HOPS = 64;
/** A slice has no room for more. */
const MAX_NAME_BYTES = 126;

const text = (description: string) => scalar((sent) => sent, { type: 'string', description });

interface Entry {
  name: string;
  category: Hash;
  record: DnsRecord;
}

export function dnsResolveRoute(): Route {
  return route({
    path: '/dnsResolve',
    tag: 'accounts',
    summary: 'Records of a name, as a resolver and those it leads to tell them',
    parameters: z.object({
      address: address('The resolver that is asked first.'),
      name: text('The name, such as `alice.ton`.'),
      category: text('Known for its name: all are shown.'),
      ttl: int32('How many further resolvers may be asked; none when absent.'),
      seqno: int32('Masterchain block as of which they are asked; the newest when absent.'),
    }),
    response: z.object({ '@type': z.literal('dns.resolved'), entries: z.array(z.unknown()) }),
    async answer({ address: first, name, ttl = 0, seqno }, asked) {
      const { address: resolver } = required(first, 'address');
      const encoded = encodeName(required(name, 'name'));
      check(ttl >= 0, 'ttl should be non-negative');
      check(seqno === undefined || seqno > 0, 'seqno should be positive');
      const cellText = createCellText();
      const entries = await resolve(resolver, encoded, Math.min(ttl, MAX_HOPS), seqno, asked);
      return JSON.stringify({
        '@type': 'dns.resolved',
        entries: entries.map(({ name: entry, category, record }) => ({
          '@type': 'dns.entry',
          name: entry,
          category: category.toString('base64'),
          entry: entryData(record, cellText),
        })),
      });
    },
  });
}

/** The labels from the top on, each ended by a zero byte. @throws {ApiError} 422 */
function encodeName(name: string): Buffer {
  const labels = name === '' || name === '.' ? [] : name.split('.').reverse();
  const fine = labels.every((label) => label !== '' && !label.includes('\0'));
  const encoded = Buffer.from(labels.length === 0 ? '\0' : `${labels.join('\0')}\0`, 'utf8');
  check(fine && encoded.length <= MAX_NAME_BYTES, 'invalid name');
  return encoded;
}

function decodeName(encoded: Buffer): string {
  return encoded.toString('utf8').split('\0').filter(Boolean).reverse().join('.');
}

async function resolve(
  first: Address,
  encoded: Buffer,
  ttl: number,
  seqno: number | undefined,
  { contracts, context }: Asked,
): Promise<Entry[]> {
  let rest = encoded;
  let resolver = first;
  for (let hops = 0; ; hops++) {
    const contract = await contracts.open(resolver, seqno, context);
    const name = new Builder().bytes(rest).cell();
    const ran = await running(() =>
      contract.run(
        methodId('dnsresolve'),
        [
          { type: 'slice', cell: name },
          { type: 'int', value: 0n },
        ],
        { limits: RESULT_LIMITS },
      ),
    );
    if (ran.exitCode !== 0 && ran.exitCode !== 1) {
      throw new Refusal(500, `VM exit code ${ran.exitCode} of dnsresolve`);
    }
    const [bits, found] = ran.stack.slice(-2);
    if (ran.stack.length < 2 || bits.type !== 'int') throw new Refusal(500, 'dnsresolve left no number of bits');
    const done = Number(bits.value) / 8;
    if (done <= 0 || found.type === 'null') return [];
    if (!Number.isInteger(done) || done > rest.length) throw new Refusal(500, 'dnsresolve left a wrong number of bits');
    if (found.type !== 'cell') throw new Refusal(500, 'dnsresolve left no cell');
    const resolved = decodeName(rest.subarray(0, done));
    if (done === rest.length) return recordsIn(found.cell).map((record) => ({ name: resolved, ...record }));
    const next = readRecord(found.cell);
    if (hops >= ttl || next.type !== 'next_resolver') {
      return [{ name: resolved, category: categoryOf('dns_next_resolver'), record: next }];
    }
    rest = rest.subarray(done);
    resolver = next.address;
  }
}

/** @throws {Refusal} for what a contract says there is and is no dictionary of records */
function recordsIn(dictionary: Cell): ReturnType<typeof readRecords> {
  try {
    return readRecords(dictionary);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new Refusal(500, `dnsresolve left no records: ${error.message}`, { cause: error });
  }
}
