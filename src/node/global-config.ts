import { z } from 'zod';
import type { BlockIdExt } from '../chain/model.ts';
import { shardFromTl } from './lite-api.ts';

/** A liteserver of a network. */
export interface LiteServerAddress {
  /** IPv4 address or host name. */
  host: string;
  port: number;
  /** Ed25519, 32 bytes. */
  publicKey: Buffer;
}

/** What is used of a network's `global.config.json`. */
export interface GlobalConfig {
  liteservers: LiteServerAddress[];
  /** Names the network: root and file hash of the masterchain's zero state. */
  zeroState: BlockIdExt;
  /** A key block that the publisher of the config trusts. */
  initBlock: BlockIdExt | null;
}

/** 32 bytes as base64 or as hex. */
const bytes32 = z.string().transform((text, context) => {
  const bytes = Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64');
  if (bytes.length === 32) return bytes;
  context.addIssue({ code: 'custom', message: 'not 32 bytes in base64 or hex' });
  return z.NEVER;
});

/**
 * A shard as a signed 64-bit number. JSON.parse rounds -9223372036854775808, the only one these files hold, to a value
 * that still is exactly it.
 */
const shard = z.union([z.number(), z.string().regex(/^-?\d{1,20}$/)]).transform((value) => shardFromTl(BigInt(value)));

const block = z
  .object({
    workchain: z.int().min(-0x80000000).max(0x7fffffff),
    shard,
    seqno: z.int().min(0).max(0xffffffff),
    root_hash: bytes32,
    file_hash: bytes32,
  })
  .transform(({ root_hash, file_hash, ...id }): BlockIdExt => ({ ...id, rootHash: root_hash, fileHash: file_hash }));

/** `ip` is the IPv4 address as a signed 32-bit number. A name in `host` is an addition of ours, for local networks. */
const liteserver = z
  .object({
    ip: z.int().min(-0x80000000).max(0xffffffff).optional(),
    host: z.string().min(1).optional(),
    port: z.int().min(1).max(65535),
    id: z.object({ key: bytes32 }),
  })
  .transform(({ ip, host, port, id }, context): LiteServerAddress => {
    if (host !== undefined) return { host, port, publicKey: id.key };
    if (ip !== undefined) return { host: dotted(ip), port, publicKey: id.key };
    context.addIssue({ code: 'custom', message: 'neither ip nor host' });
    return z.NEVER;
  });

function dotted(ip: number): string {
  return [24, 16, 8, 0].map((shift) => (ip >>> shift) & 255).join('.');
}

/** Dotted IPv4 address to the signed number a config holds. Throws for anything else. */
export function ipToInt(address: string): number {
  const parts = z.array(z.coerce.number().int().min(0).max(255)).length(4).parse(address.split('.'));
  return (parts[0] << 24) | (parts[1] << 16) | (parts[2] << 8) | parts[3];
}

const globalConfigSchema = z
  .object({
    liteservers: z.array(liteserver).min(1),
    validator: z.object({ zero_state: block, init_block: block.optional() }),
  })
  .transform(
    ({ liteservers, validator }): GlobalConfig => ({
      liteservers,
      zeroState: validator.zero_state,
      initBlock: validator.init_block ?? null,
    }),
  );

/** Reads the parsed JSON of a global config. Throws an Error that names what is wrong and where. */
export function parseGlobalConfig(json: unknown): GlobalConfig {
  const parsed = globalConfigSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(`not a global config: ${z.prettifyError(parsed.error)}`);
}
