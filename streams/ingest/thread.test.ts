import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readExternalMessage } from '../../src/chain/external-message.ts';
import { readConfig } from '../../src/config.ts';
import { startDevnetThread } from '../../src/devnet/thread.ts';
import { askLiteservers } from '../../src/node/liteservers.ts';
import { startIngestThread } from './thread.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-liteservers-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('answers what others ask of the liteservers, without following them', async () => {
  const { config } = readConfig(['--data-dir', folder, '--log-level', 'error'], {});
  const { devnetSeed: seed, devnetRate: rate, blockTimeMs, splitAt, mergeAt, host, litePort, logLevel } = config;
  const settings = { seed, rate, blockTimeMs, splitAt, mergeAt, host, litePort, logLevel };
  const devnet = await startDevnetThread({ folder: join(folder, 'devnet'), ...settings });
  const heard: Buffer[] = [];
  devnet.onExternal((boc) => void heard.push(boc));
  const states: object[] = [];
  const ignore = (): void => undefined;
  const ingest = { head: ignore, appended: ignore, fetched: ignore, stepLatency: ignore, refetched: ignore };
  const proofs = { proven: ignore, unproven: ignore, serverFault: ignore };
  const thread = startIngestThread(
    { config, globalConfig: devnet.ready.globalConfig, ingests: false },
    { ingest: { ...ingest, ...proofs, cells: ignore }, servers: (now) => states.push(now) },
  );
  try {
    const servers = askLiteservers(thread.ask);
    const { signal } = new AbortController();
    const { last } = await servers.query({ method: 'getMasterchainInfo' }, { signal });
    expect(last.workchain).toBe(-1);
    const { address } = devnet.faucet;
    const account = { workchain: address.workChain, id: address.hash };
    // Held to its proofs where the pool is.
    const found = await servers.query({ method: 'getAccountState', id: last, account }, { signal });
    expect(found.state.length).toBeGreaterThan(0);
    await expect(servers.sendMessage(Buffer.from('no message'), signal)).rejects.toMatchObject({ code: 'refused' });
    await expect.poll(() => states.at(-1)).toEqual({ ready: 1 });
    // What the devnet's people send is heard of before it is in a block.
    await expect.poll(() => heard.length).toBeGreaterThan(0);
    expect(readExternalMessage(heard[0]).hash.length).toBe(32);
  } finally {
    await thread.stop();
    await devnet.thread.stop();
  }
  await expect(thread.ask({ kind: 'send', boc: Buffer.alloc(1) }, AbortSignal.timeout(1_000))).rejects.toMatchObject({
    code: 'unavailable',
  });
});
