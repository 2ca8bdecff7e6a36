import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { readConfig } from '../config.ts';
import { FaucetError } from '../devnet/actors/faucet.ts';
import { createDispatcher } from './dispatcher.ts';
import { startWorkerPool, type WorkerPool, type WorkerPoolOptions } from './pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'tonstream-pool-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let pool: WorkerPool | null = null;
afterEach(() => pool?.close());

/** What the workers are told of, from step 5 on. */
function createHeads() {
  const listeners: (() => void)[] = [];
  let mcSeqno = 5;
  return {
    known: () => ({ mcSeqno, globalId: -217 }),
    onAdvance: (listener: () => void) => void listeners.push(listener),
    advance(to: number) {
      mcSeqno = to;
      for (const listener of listeners) listener();
    },
  };
}

/**
 * A pool of workers that do what `onMessage` says, a body of JavaScript that sees `message`, `tell` and the `socket` of
 * a connection.
 */
async function startPool(onMessage: string, options: Partial<WorkerPoolOptions> = {}) {
  const program = join(folder, `${Math.random()}.mjs`);
  writeFileSync(
    program,
    `const tell = (message) => process.send(message);
    process.on('message', (message, socket) => { ${onMessage} });
    tell({ type: 'ready' });`,
  );
  const givenUp: Error[] = [];
  const registry = new Registry();
  pool = await startWorkerPool({
    count: 2,
    startOf: () => ({
      config: readConfig([], {}).config,
      url: '',
      clickhouseUrl: '',
      faucet: null,
    }),
    head: createHeads(),
    answer: async () => Buffer.from('given'),
    dispatcher: createDispatcher(registry),
    registry,
    logger: pino({ level: 'silent' }),
    onGivenUp: (error) => givenUp.push(error),
    program,
    ...options,
    patience: { restartAfterMs: 1, longestWaitMs: 5, stopMs: 200, ...options.patience },
  });
  return { pool, registry, givenUp };
}

const LISTENS = `if (message.type === 'start') tell({ type: 'listening' });`;
const STOPS = `if (message.type === 'stop') process.exit(0);`;

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('worker pool', () => {
  it('waits for all to listen, and says why one cannot', async () => {
    const { pool } = await startPool(LISTENS + STOPS);
    expect(pool.pids).toHaveLength(2);
    const failing = startPool(`if (message.type === 'start') tell({ type: 'failed', reason: 'no port' });${STOPS}`);
    await expect(failing).rejects.toThrow('no port');
    await expect(startPool('process.exit(7)')).rejects.toThrow(/HTTP worker \d ended with status 7/);
    // As where the system has no process left to give.
    const { execPath } = process;
    process.execPath = '/nonexistent';
    const unstartable = startPool(LISTENS).finally(() => {
      process.execPath = execPath;
    });
    await expect(unstartable).rejects.toThrow(/HTTP worker \d ended with spawn \/nonexistent ENOENT/);
  });

  it('starts again what dies, counts it, and gives up when it goes on and on', async () => {
    const dying = `if (message.type === 'start') { tell({ type: 'listening' }); setTimeout(() => process.exit(3), 20); }`;
    const { registry, givenUp } = await startPool(dying, { count: 1, patience: { maxYoungDeaths: 3 } });
    await until(() => givenUp.length > 0);
    expect(givenUp[0].message).toBe('HTTP worker 0 died 4 times soon after its start');
    expect(await registry.metrics()).toContain('tonstream_worker_restarts_total 3');
    expect(await registry.metrics()).toContain('tonstream_workers 0');
  });

  it('sums metrics, without those of a worker that does not tell', async () => {
    const told = `[{ name: 'x', help: 'x', type: 'counter', aggregator: 'sum', values: [{ value: 20, labels: {} }] },
      { name: 'tonstream_gaps', help: 'x', type: 'gauge', aggregator: 'sum', values: [{ value: 2, labels: {} }] }]`;
    const telling = `if (message.type === 'metrics') tell({ type: 'metrics', id: message.id, metrics: ${told} });`;
    const { pool } = await startPool(LISTENS + telling + STOPS);
    const text = await pool.metrics();
    expect(text).toContain('\nx 40\n');
    expect(text).toContain('\ntonstream_gaps 2\n');
    expect(text).toContain('\ntonstream_workers 2\n');
    await pool.close();
    const silent = await startPool(LISTENS + STOPS);
    expect(await silent.pool.metrics()).toContain('tonstream_workers 2');
  });

  it('goes on with what a worker told last when it is late', async () => {
    const metric = `[{ name: 'x', help: 'x', type: 'counter', aggregator: 'sum', values: [{ value: 7, labels: {} }] }]`;
    const once = `if (message.type === 'metrics' && !globalThis.told) {
      globalThis.told = true;
      tell({ type: 'metrics', id: message.id, metrics: ${metric} });
    }`;
    const { pool } = await startPool(LISTENS + once + STOPS);
    for (let i = 0; i < 2; i++) expect(await pool.metrics()).toContain('\nx 14\n');
  });

  it('tells of steps and answers questions, refusals with their code', async () => {
    const heads: number[] = [];
    const asking = `if (message.type === 'head') tell({ type: 'call', id: 1, question: { kind: 'gift', to: 'x', nanotons: BigInt(message.mcSeqno) } });
      if (message.type === 'answer' || message.type === 'refusal') tell({ type: 'call', id: 2, question: { kind: 'gift', to: message.error?.code ?? String(message.answer.length), nanotons: 0n } });`;
    const answers: string[] = [];
    const head = createHeads();
    await startPool(LISTENS + asking + STOPS, {
      count: 1,
      head,
      answer: async (question) => {
        if (question.kind !== 'gift') throw new Error(question.kind);
        const { to, nanotons } = question;
        if (to !== 'x') answers.push(to);
        else heads.push(Number(nanotons));
        if (heads.length === 2 && to === 'x') throw new FaucetError('rate', 'too often');
        return Buffer.from('given');
      },
    });
    head.advance(7);
    await until(() => answers.length > 0);
    head.advance(8);
    await until(() => answers.includes('rate'));
    expect(heads).toEqual([7, 8]);
    expect(answers[0]).toBe('5');
  });

  it('tells a worker of the steps that come while it starts', async () => {
    // Told as questions: what it was started with, and what came before it listened.
    const slow = `const said = (what) => tell({ type: 'call', id: 1, question: { kind: 'gift', to: what, nanotons: 0n } });
      if (message.type === 'start') said('start ' + message.start.head.mcSeqno);
      if (message.type === 'head') {
        said('head ' + message.mcSeqno);
        said('listening');
        tell({ type: 'listening' });
      }`;
    const head = createHeads();
    const said: string[] = [];
    const starting = startPool(slow + STOPS, {
      count: 1,
      head,
      answer: async (question) => {
        if (question.kind === 'gift') said.push(question.to);
        return '';
      },
    });
    await until(() => said.length === 1);
    head.advance(6);
    await starting;
    await until(() => said.length === 3);
    expect(said).toEqual(['start 5', 'head 6', 'listening']);
  });

  it('kills what does not stop', async () => {
    const { pool } = await startPool(LISTENS);
    const { pids } = pool;
    await pool.close();
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  it('gives the connections that a killed worker has not taken to another', async () => {
    const dispatcher = createDispatcher(new Registry());
    const answering = `if (message.type === 'connection') {
        tell({ type: 'taken', id: message.id });
        socket.end('answered');
      }
      if (message.type === 'head') { tell({ type: 'call', id: 1, question: { kind: 'gift', to: String(process.pid), nanotons: 0n } }); for (;;); }`;
    const stuck: number[] = [];
    const head = createHeads();
    await startPool(LISTENS + STOPS + answering, {
      dispatcher,
      head,
      answer: async (question) => {
        if (question.kind === 'gift') stuck.push(Number(question.to));
        return '';
      },
    });
    dispatcher.server.listen(0, '127.0.0.1');
    await once(dispatcher.server, 'listening');
    const address = dispatcher.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const ask = async (): Promise<string> => {
      const socket = createConnection(port, '127.0.0.1');
      let text = '';
      socket.setEncoding('utf8').on('data', (more: string) => {
        text += more;
      });
      await once(socket, 'close');
      return text;
    };
    expect(await ask()).toBe('answered');
    // Both are stuck with what comes now, and one is killed after the other.
    head.advance(7);
    await until(() => stuck.length === 2);
    let given = 0;
    dispatcher.server.on('connection', () => given++);
    const asked = Array.from({ length: 6 }, ask);
    await until(() => given === asked.length);
    for (const pid of stuck) process.kill(pid, 'SIGKILL');
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 6 }, () => 'answered'));
  });
});
