/**
 * CPU of fetching blocks from a liteserver, our connection beside the engine of ton-lite-client in the same run:
 * `npm run bench:node`. The server runs in a process of its own, so only the client's CPU counts; the clients take
 * turns. Medians over the rounds.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LiteSingleEngine } from 'ton-lite-client';
import { Functions } from 'ton-lite-client/dist/schema.js';
import { z } from 'zod';
import { blockFile } from '../../test/recorded-blocks.ts';
import { sha256Of } from '../chain/hash.ts';
import { shardFromTl } from './lite-api.ts';
import { connectLite } from './lite-connection.ts';
import { serveLite } from './lite-server.ts';

const blocks = ['0_c000000000000000_13516764', '0_8000000000000000_30816553', '0_8000000000000000_71398501'];
const ROUNDS = 15;
const SMALL_QUERIES = 2_000;

const zero = Buffer.alloc(32);

/** The child: serves each block by its seqno. */
async function serveBlocks(): Promise<void> {
  const files = new Map(blocks.map((name) => [Number(name.split('_')[2]), readFileSync(blockFile(name))]));
  const server = await serveLite(
    { host: '127.0.0.1', port: 0, seed: Buffer.alloc(32, 5) },
    {
      getBlock: ({ id }) => ({ id, data: files.get(id.seqno) ?? Buffer.alloc(0) }),
      getTime: () => ({ now: 1 }),
    },
  );
  process.send?.({ port: server.port, publicKey: server.publicKey.toString('base64') });
}

/** CPU milliseconds of this process for each round, the median. */
async function cpuMs(work: () => Promise<unknown>, rounds: number): Promise<{ cpu: number; wall: number }> {
  for (let i = 0; i < 3; i++) await work();
  const cpu: number[] = [];
  const wall: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const before = process.cpuUsage();
    const startedAt = performance.now();
    await work();
    wall.push(performance.now() - startedAt);
    const used = process.cpuUsage(before);
    cpu.push((used.user + used.system) / 1000);
  }
  const median = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1];
  return { cpu: median(cpu), wall: median(wall) };
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { execArgv: process.execArgv });
  const [message] = await once(child, 'message');
  const { port, publicKey } = z.object({ port: z.number(), publicKey: z.string() }).parse(message);
  const key = Buffer.from(publicKey, 'base64');
  const { signal } = new AbortController();
  const ours = await connectLite({ host: '127.0.0.1', port, publicKey: key }, signal);
  const engine = new LiteSingleEngine({ host: `tcp://127.0.0.1:${port}`, publicKey: key });
  await new Promise((resolve) => engine.once('ready', () => resolve(null)));

  print('fetching a block                     bytes    tonstream cpu    ton-lite-client cpu    ratio    wall ms');
  for (const name of blocks) {
    const seqno = Number(name.split('_')[2]);
    const expected = readFileSync(blockFile(name));
    const id = { workchain: 0, shard: -(1n << 63n), seqno, rootHash: zero, fileHash: zero };
    const fetched: Buffer[] = [];
    const call = { signal, timeoutMs: 10_000 };
    // With the check of the file hash, which the other engine does not do.
    const our = await cpuMs(async () => {
      const { data } = await ours.query({ method: 'getBlock', id }, call);
      sha256Of(data);
      fetched[0] = data;
    }, ROUNDS);
    const tl = { kind: 'tonNode.blockIdExt' as const, ...id, shard: BigInt.asIntN(64, id.shard).toString() };
    const their = await cpuMs(async () => {
      const { data } = await engine.query(Functions.liteServer_getBlock, { kind: 'liteServer.getBlock', id: tl });
      fetched[1] = data;
    }, ROUNDS);
    if (!fetched.every((data) => data.equals(expected))) throw new Error(`${name} came back changed`);
    const columns = [
      `${shardFromTl(id.shard)} ${seqno}`.padEnd(34),
      String(expected.length).padStart(8),
      `${our.cpu.toFixed(2)} ms`.padStart(17),
      `${their.cpu.toFixed(1)} ms`.padStart(23),
      `${(their.cpu / our.cpu).toFixed(0)}x`.padStart(9),
      our.wall.toFixed(1).padStart(11),
    ];
    print(columns.join(''));
  }

  const small = await cpuMs(async () => {
    for (let i = 0; i < SMALL_QUERIES; i += 20) {
      await Promise.all(
        Array.from({ length: 20 }, () => ours.query({ method: 'getTime' }, { signal, timeoutMs: 5_000 })),
      );
    }
  }, 5);
  print(
    `small queries, 20 at a time: ${Math.round((SMALL_QUERIES / small.wall) * 1000)} a second, ${((small.cpu / SMALL_QUERIES) * 1000).toFixed(0)} us of client CPU each`,
  );
  engine.close();
  ours.close();
  child.kill();
}

if (process.argv[2] === 'serve') await serveBlocks();
else await main();
