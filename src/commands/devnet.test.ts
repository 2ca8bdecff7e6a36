import { EventEmitter, once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Address } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV4 } from '@ton/ton';
import pino from 'pino';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import type { Chain } from '../devnet/chain.ts';
import { chainLedger } from '../devnet/chain-ledger.ts';
import { createShutdown } from '../shutdown.ts';
import { runDevnet } from './devnet.ts';
import { runFaucet } from './faucet.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devnet-command-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('prints what works: faucet, demo wallets, liteserver; stops when told to', async () => {
  const logger = pino({ level: 'silent' });
  const shutdown = createShutdown(logger);
  const { config } = readConfig(['--data-dir', folder, '--port', '0'], {});
  const lines: string[] = [];
  let chain: Chain | null = null;
  let closed = false;
  const ready = new EventEmitter();
  const printed = once(ready, 'printed');
  const ended = runDevnet(
    {
      config,
      logger,
      shutdown,
      print(line) {
        lines.push(line);
        if (line.includes('Ctrl-C')) ready.emit('printed');
      },
    },
    {
      seed: 'command test',
      blockTimeMs: 50,
      rate: 0,
      async openLiteserver(opened) {
        chain = opened;
        const close = (): void => {
          closed = true;
        };
        return { address: '127.0.0.1:4443', globalConfig: '{"liteservers":[]}', close };
      },
    },
  );
  await printed;
  const text = lines.join('\n');
  expect(text).toContain('127.0.0.1:4443');
  expect(text).toContain('{"liteservers":[]}');
  const [, address, secret] = /v4r2 +(\S+) +([0-9a-f]{64})/.exec(text) ?? [];
  const { publicKey } = keyPairFromSeed(Buffer.from(secret, 'hex'));
  expect(WalletContractV4.create({ workchain: 0, publicKey }).address.equals(Address.parse(address))).toBe(true);

  const port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1]);
  const someone = new Address(0, Buffer.alloc(32, 8));
  const said: string[] = [];
  const code = await runFaucet({ host: '127.0.0.1', port }, [someone.toString(), '3'], {
    print: (line) => void said.push(line),
  });
  expect({ code, said: said[0] }).toEqual({ code: 0, said: `sent 3 TON to ${someone.toRawString().toUpperCase()}` });
  await untilGiven(chain, someone, 3_000_000_000n);

  shutdown.stop('test');
  await ended;
  expect(await shutdown.done).toBe(0);
  expect(closed).toBe(true);
}, 60_000);

/** Resolves in the block that shows the coins. */
async function untilGiven(chain: Chain | null, address: Address, balance: bigint): Promise<void> {
  if (chain === null) throw new Error('no chain was opened');
  const ledger = chainLedger(chain);
  while ((await ledger.account(address))?.balance !== balance) {
    await new Promise<void>((resolve) => {
      const end = chain.onStep(() => {
        end();
        resolve();
      });
    });
  }
}
