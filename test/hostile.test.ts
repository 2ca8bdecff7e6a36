/**
 * Whatever is asked costs its limit: mutated requests over all operations of v2 and the old calls of v3 are answered in
 * form, and none of them by a failure of our own. The long run asks a whole service, and watches it.
 */

import { writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { silent } from '../clickhouse/test-server.ts';
import { parseGlobalConfig } from '../src/node/global-config.ts';
import { createLitePool } from '../src/node/lite-pool.ts';
import { serveApi } from './api-server.ts';
import { isLong, rounds } from './chance.ts';
import { serveHostileDevnet } from './hostile/grounds.ts';
import { hostileQuestion, OPERATIONS, type Question } from './hostile/questions.ts';
import { createMemoryChain } from './memory-source.ts';
import { metricOf } from './metrics.ts';
import { childrenOf } from './process-table.ts';
import { processUsage } from './process-usage.ts';
import { startStack, temporaryFolder } from './stack.ts';

const REQUESTS = rounds(1_000, 100_000);
const AT_A_TIME = 8;
const ROUNDS = rounds(1, 20);
const PATIENCE_MS = rounds(900_000, 3_600_000);
/** Of a run of a contract. */
const TVM_TIMEOUT_MS = 400;

/** What the service says of failures of its own; what it says for nodes and contracts is theirs. */
const OWN = /^internal server error/;

const v2 = z.union([
  z.object({ ok: z.literal(true), result: z.unknown() }),
  z.object({ ok: z.literal(false), error: z.string(), code: z.int() }),
]);
const v3Refusal = z.object({ error: z.string() });

interface Served {
  url: string;
  /** Why it should not have answered as it did; null where all is well. */
  fault(): Promise<string | null>;
  /** Bytes that the answering process has for itself; null where it is this one. */
  memory(): number | null;
  close(): Promise<void>;
}

let devnet: Awaited<ReturnType<typeof serveHostileDevnet>>;
let served: Served;
const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });

beforeAll(async () => {
  devnet = await serveHostileDevnet();
  served = await (isLong ? serveWhole() : serveMemory());
});
afterAll(async () => {
  agent.destroy();
  await served?.close();
  await devnet?.close();
});

/** The API in this process, over blocks in memory. */
async function serveMemory(): Promise<Served> {
  const pool = createLitePool(parseGlobalConfig(JSON.parse(devnet.server.globalConfig)), { logger: silent });
  const { steps } = devnet;
  const blocks = steps.flatMap(({ mc, shards }) => [...shards, mc].map(({ bytes }) => ({ bytes, mcSeqno: mc.seqno })));
  const masterBlock = async (seqno: number) => steps[seqno - 1]?.mc.bytes ?? null;
  const server = await serveApi(createMemoryChain(blocks).source, {
    liteservers: pool,
    masterBlock,
    tvmTimeoutMs: TVM_TIMEOUT_MS,
    // As in a service, where the same questions are answered together.
    version: () => '1',
  });
  return {
    url: server.url,
    fault: async () => (server.reported.length === 0 ? null : server.reported.map(described).join('\n')),
    memory: () => null,
    async close() {
      await server.close();
      await pool.close();
    },
  };
}

const described = (error: unknown): string => (error instanceof Error ? (error.stack ?? error.message) : String(error));

/** The service as it is started, with one worker. */
async function serveWhole(): Promise<Served> {
  const folder = temporaryFolder();
  const config = join(folder.path, 'global.config.json');
  writeFileSync(config, devnet.server.globalConfig);
  const stack = await startStack({
    network: config,
    flags: ['--from', 'genesis', '--tvm-timeout-ms', String(TVM_TIMEOUT_MS)],
  });
  await stack.caughtUp(devnet.steps.length);
  await stack.windowed();
  const { pid } = childrenOf(process.pid).find(({ command }) => command.includes(stack.dataDir)) ?? {};
  const workers = childrenOf(pid);
  return {
    url: stack.url,
    async fault() {
      const metrics = await (await fetch(`${stack.url}/metrics`)).text();
      const restarts = metricOf(metrics, 'tonstream_worker_restarts_total');
      const said = stack.program
        .output()
        .split('\n')
        .filter((line) => /"level":(50|60)/.test(line));
      return restarts === 0 && said.length === 0 ? null : `${restarts} workers were lost; ${said.slice(-3).join('\n')}`;
    },
    memory: () => Math.max(...workers.map((worker) => processUsage(worker.pid).ownBytes)),
    async close() {
      await stack.remove();
      folder.remove();
    },
  };
}

function ask({ method, path, body }: Question): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(`${served.url}${path}`, { method, agent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** What is wrong with an answer; null for nothing. */
function wrong({ path }: Question, status: number, text: string): string | null {
  const isV2 = path.startsWith('/api/v2');
  if (status === 414 || status === 431) return null;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return 'no JSON';
  }
  if (status === 200) return !isV2 || v2.safeParse(json).data?.ok === true ? null : 'not in form';
  const refusal = (isV2 ? v2 : v3Refusal).safeParse(json);
  if (!refusal.success || !('error' in refusal.data)) return 'a refusal not in form';
  const { error } = refusal.data;
  if ('code' in refusal.data && refusal.data.code !== status) return 'another code than status';
  return OWN.test(error) ? error : null;
}

const short = (text = ''): string => (text.length > 600 ? `${text.slice(0, 600)}…` : text);

it(
  `answers ${REQUESTS} mutated requests by what they are`,
  async () => {
    const statuses = new Map<number, number>();
    const asked = new Set<string>();
    const own: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      let left = Math.ceil(REQUESTS / ROUNDS);
      const asking = Array.from({ length: AT_A_TIME }, async () => {
        while (left-- > 0) {
          const question = hostileQuestion(devnet.grounds);
          const { status, text } = await ask(question);
          const reason = wrong(question, status, text);
          const { method, path, body } = question;
          expect(reason, `${method} ${short(path)} ${short(body)}: ${status} ${short(text)}`).toBeNull();
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          asked.add(path.split('?')[0]);
        }
      });
      await Promise.all(asking);
      expect(await served.fault()).toBeNull();
      const bytes = served.memory();
      if (bytes !== null) own.push(bytes);
      if (isLong)
        process.stdout.write(`hostile: ${JSON.stringify(Object.fromEntries(statuses))}, ${own.at(-1)} bytes\n`);
    }
    // All of them, and neither all of it refused nor all of it taken.
    for (const path of OPERATIONS) expect(asked).toContain(path);
    expect(statuses.get(200)).toBeGreaterThan(REQUESTS / 20);
    expect(statuses.get(422)).toBeGreaterThan(REQUESTS / 20);
    // Flat: what it has in the second half is no more than in the first, but for what garbage is not yet collected.
    if (own.length > 0)
      expect(Math.min(...own.slice(ROUNDS / 2))).toBeLessThan(Math.max(...own.slice(0, ROUNDS / 2)) * 1.1);
    const wallet = devnet.wallets[3].address.toRawString();
    const body = JSON.stringify({ address: wallet, method: 'seqno', stack: [] });
    const { status, text } = await ask({ method: 'POST', path: '/api/v2/runGetMethod', body });
    expect([status, JSON.parse(text).result.exit_code]).toEqual([200, 0]);
  },
  PATIENCE_MS,
);
