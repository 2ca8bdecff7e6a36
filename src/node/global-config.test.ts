import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { ipToInt, parseGlobalConfig } from './global-config.ts';

const key = Buffer.alloc(32, 1).toString('base64');
const zero = { workchain: -1, shard: -(2 ** 63), seqno: 0, root_hash: key, file_hash: key };
const config = { liteservers: [{ ip: 84478511, port: 19949, id: { key } }], validator: { zero_state: zero } };

describe('global config', () => {
  test.skipIf(shelf === null).each(['mainnet', 'testnet'])('the published one of %s', (network) => {
    const file = join(requireShelf(), 'data', 'config', `global.config.${network}.json`);
    const parsed = parseGlobalConfig(JSON.parse(readFileSync(file, 'utf8')));
    expect(parsed.liteservers.length).toBeGreaterThan(5);
    for (const { host, publicKey } of parsed.liteservers) {
      expect(host).toMatch(/^\d+\.\d+\.\d+\.\d+$/);
      expect(publicKey).toHaveLength(32);
    }
    expect(parsed.zeroState).toMatchObject({ workchain: -1, shard: '8000000000000000', seqno: 0 });
    expect(parsed.initBlock?.seqno).toBeGreaterThan(0);
  });

  test.skipIf(shelf === null)('mainnet has the zero state that is known to be its own', () => {
    const file = join(requireShelf(), 'data', 'config', 'global.config.mainnet.json');
    const { zeroState } = parseGlobalConfig(JSON.parse(readFileSync(file, 'utf8')));
    expect(zeroState.rootHash.toString('base64')).toBe('F6OpKZKqvqeFp6CQmFomXNMfMj2EnaUSOXN+Mh+wVWk=');
  });

  test('addresses are signed numbers, both ways', () => {
    const { liteservers } = parseGlobalConfig(config);
    expect(liteservers[0].host).toBe('5.9.10.47');
    for (const host of ['5.9.10.47', '127.0.0.1', '255.255.255.255', '185.86.79.9']) {
      const server = { ...config.liteservers[0], ip: ipToInt(host) };
      expect(parseGlobalConfig({ ...config, liteservers: [server] }).liteservers[0].host).toBe(host);
    }
    expect(ipToInt('185.86.76.183')).toBe(-1185526601);
    expect(() => ipToInt('localhost')).toThrow();
  });

  test('what is wrong is named with its place', () => {
    expect(() => parseGlobalConfig({ ...config, liteservers: [] })).toThrow(/liteservers/);
    const short = { ...config.liteservers[0], id: { key: 'AAAA' } };
    expect(() => parseGlobalConfig({ ...config, liteservers: [short] })).toThrow(
      /not 32 bytes.*\n.*liteservers\[0\]\.id\.key/,
    );
    const nowhere = { port: 1, id: { key } };
    expect(() => parseGlobalConfig({ ...config, liteservers: [nowhere] })).toThrow(/neither ip nor host/);
    expect(() => parseGlobalConfig('text')).toThrow('not a global config');
  });
});
