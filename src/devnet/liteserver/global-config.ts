import type { BlockIdExt } from '../../chain/model.ts';
import { ipToInt } from '../../node/global-config.ts';

export interface NetworkAddress {
  /** Under which clients reach the liteserver: an IPv4 address, or a name. */
  host: string;
  port: number;
  /** Ed25519 public key of the liteserver. */
  key: Buffer;
  /** Zero state of the masterchain. */
  zeroState: BlockIdExt;
  /** A masterchain block that clients trust. */
  initBlock: BlockIdExt;
}

/** JSON.stringify would round the shard, and other languages refuse what it rounds to. */
const SHARD_MARK = 'masterchain shard';
const SHARD_NUMBER = '-9223372036854775808';

/**
 * The text of the network's `global.config.json`. A host that is a name stands in `host` (an addition that
 * `parseGlobalConfig` knows), an address in `ip` as everywhere.
 */
export function globalConfig({ host, port, key, zeroState, initBlock }: NetworkAddress): string {
  const blockOf = (id: BlockIdExt) => ({
    workchain: id.workchain,
    shard: SHARD_MARK,
    seqno: id.seqno,
    root_hash: id.rootHash.toString('base64'),
    file_hash: id.fileHash.toString('base64'),
  });
  const where = /^[\d.]+$/.test(host) ? { ip: ipToInt(host) } : { host };
  const config = {
    '@type': 'config.global',
    dht: { '@type': 'dht.config.global', k: 3, a: 3, static_nodes: { '@type': 'dht.nodes', nodes: [] } },
    liteservers: [{ ...where, port, id: { '@type': 'pub.ed25519', key: key.toString('base64') } }],
    validator: {
      '@type': 'validator.config.global',
      zero_state: blockOf(zeroState),
      init_block: blockOf(initBlock),
      hardforks: [],
    },
  };
  return `${JSON.stringify(config, null, 2).replaceAll(`"${SHARD_MARK}"`, SHARD_NUMBER)}\n`;
}
