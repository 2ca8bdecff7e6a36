import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseGlobalConfig } from './global-config.ts';
import { findGlobalConfig } from './network.ts';

const zero = {
  workchain: -1,
  shard: -(2 ** 63),
  seqno: 0,
  root_hash: 'ab'.repeat(32),
  file_hash: 'cd'.repeat(32),
};
const config = {
  liteservers: [
    { ip: 2130706433, port: 4924, id: { '@type': 'pub.ed25519', key: Buffer.alloc(32, 7).toString('base64') } },
  ],
  validator: { zero_state: zero },
};

let folder: string;
let server: Server;
let url: string;
let answer: { status: number; body: string };
let warnings: string[];

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-network-'));
  answer = { status: 200, body: JSON.stringify(config) };
  warnings = [];
  server = createServer((_request, response) => {
    response.statusCode = answer.status;
    response.end(answer.body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  url = `http://127.0.0.1:${address.port}/config.json`;
});

afterEach(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

const find = async (network: string, source?: string) => {
  const text = await findGlobalConfig({
    network,
    source,
    dataDir: folder,
    logger: { warn: (_fields: object, text?: string) => void warnings.push(text ?? '') },
    signal: new AbortController().signal,
  });
  return parseGlobalConfig(JSON.parse(text));
};

describe('findGlobalConfig', () => {
  it('downloads, keeps a copy, and uses it when the next download fails', async () => {
    const first = await find('mainnet', url);
    expect(first.liteservers).toEqual([{ host: '127.0.0.1', port: 4924, publicKey: Buffer.alloc(32, 7) }]);
    expect(first.zeroState.rootHash.toString('hex')).toBe(zero.root_hash);
    expect(readFileSync(join(folder, 'mainnet.global.config.json'), 'utf8')).toBe(answer.body);
    for (const bad of [
      { status: 500, body: '' },
      { status: 200, body: '<html>' },
      { status: 200, body: '{}' },
    ]) {
      answer = bad;
      expect(await find('mainnet', url)).toEqual(first);
    }
    expect(warnings).toHaveLength(3);
  });

  it('says what to do when there is neither', async () => {
    answer = { status: 404, body: '' };
    await expect(find('testnet', url)).rejects.toThrow(/testnet .*HTTP 404.*--config <file>/s);
    // A copy of another network is none.
    answer = { status: 200, body: JSON.stringify(config) };
    await find('mainnet', url);
    answer = { status: 404, body: '' };
    await expect(find('testnet', url)).rejects.toThrow(/testnet/);
  });

  it('reads no more than a bound', async () => {
    answer = { status: 200, body: ' '.repeat(5 * 1024 * 1024) };
    await expect(find('mainnet', url)).rejects.toThrow(/more than 4194304 bytes/);
  });

  it('takes a file by --network and by --config', async () => {
    const path = join(folder, 'my.json');
    writeFileSync(path, JSON.stringify(config));
    expect((await find(path)).liteservers).toHaveLength(1);
    expect((await find('mainnet', path)).liteservers).toHaveLength(1);
    await expect(find('mianet')).rejects.toThrow(/--network: mianet cannot be read: give devnet, mainnet/);
    writeFileSync(path, '{"liteservers": []}');
    await expect(find(path)).rejects.toThrow(/not a global config/);
  });
});
