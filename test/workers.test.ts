/** HTTP workers of a live devnet: one port, one chain, and what happens when processes die. */
import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { followFeed } from './feed-server.ts';
import { metricOf } from './metrics.ts';
import { childrenOf, listProcesses } from './process-table.ts';
import { type Run, runTonstream, waitFor } from './processes.ts';
import { temporaryFolder } from './stack.ts';

const WORKERS = 2;

interface Answer {
  status: number;
  text: string;
}

/** On a connection of its own, so that the workers take turns. */
function ask(url: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get(url, { agent: false, timeout: 30_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    }).on('error', reject);
  });
}

const workersOf = (parent: number | undefined): number[] =>
  childrenOf(parent).flatMap(({ pid, command }) => (command.includes('bin/worker.js') ? [pid] : []));

/** A signal to no process is an error, unless it has ended meanwhile. */
function isAlive(pid: number): boolean {
  return listProcesses().some((one) => one.pid === pid && !one.command.includes('<defunct>'));
}

const Info = z.object({ last: z.object({ seqno: z.number() }) });
const Page = z.object({ transactions: z.array(z.object({ hash: z.string() })) });

const Block = z.object({ masterchain_block_ref: z.object({ seqno: z.number() }) });
const Told = z.array(z.object({ hash: z.string(), mc_block_seqno: z.number() }));

describe('two workers', () => {
  const folder = temporaryFolder();
  let run: Run;
  let url: string;

  const api = async (path: string): Promise<Answer> => ask(`${url}/api/v3/${path}`);
  const seqno = async (): Promise<number> => Info.parse(JSON.parse((await api('masterchainInfo')).text)).last.seqno;
  const metric = async (name: string): Promise<number> => {
    const { text } = await ask(`${url}/metrics`);
    return metricOf(text, name);
  };

  async function start(): Promise<void> {
    const chain = ['--network', 'devnet', '--block-time', '300ms', '--devnet-rate', '5'];
    run = runTonstream('start', '--data-dir', folder.path, '--port', '0', '--workers', String(WORKERS), ...chain);
    await waitFor('the URL', run, async () => {
      url = /^ +API +(http:\S+?)\/api\/v3\/$/m.exec(run.output())?.[1] ?? '';
      return url !== '';
    });
    await waitFor('the first steps', run, async () => (await api('masterchainInfo')).status === 200);
  }

  beforeAll(start);
  afterAll(async () => {
    await run?.kill();
    folder.remove();
  });

  it('all answer, with the same chain, and see new steps', async () => {
    expect(workersOf(run.child.pid)).toHaveLength(WORKERS);
    await waitFor('twenty steps', run, async () => (await seqno()) >= 20);
    const { transactions } = Page.parse(JSON.parse((await api('transactions?limit=20&sort=asc')).text));
    expect(transactions).toHaveLength(20);
    for (const { hash } of transactions.slice(0, 5)) {
      const path = `transactions?hash=${encodeURIComponent(hash)}`;
      const answers = await Promise.all(Array.from({ length: 2 * WORKERS }, () => api(path)));
      expect(answers[0].text).toContain(hash);
      for (const answer of answers) expect(answer).toEqual(answers[0]);
    }
    const before = await seqno();
    for (let i = 0; i < 2 * WORKERS; i++) {
      await waitFor('a newer step', run, async () => (await seqno()) > before);
    }
  });

  it('count requests together, whichever is asked', async () => {
    const count = () =>
      metric('tonstream_api_request_seconds_count{path="/api/v3/topAccountsByBalance",status="200"}').catch(() => 0);
    for (let i = 0; i < 10; i++) expect((await api(`topAccountsByBalance?limit=${i + 1}`)).status).toBe(200);
    for (let i = 0; i < 2 * WORKERS; i++) expect(await count()).toBe(10);
    expect(await metric('tonstream_workers')).toBe(WORKERS);
    // Told by the main process, where the projector is.
    expect(await metric('tonstream_projected_mc_seqno')).toBeGreaterThan(20);
  });

  it('serve the page, its events, the status and the faucet alike', async () => {
    const firstEvents = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const request = get(`${url}/live`, { agent: false }, (response) => {
          let text = '';
          response.setEncoding('utf8').on('data', (chunk: string) => {
            text += chunk;
            if (!text.includes('event: chain') || !text.includes('event: status')) return;
            resolve(text);
            request.destroy();
          });
        });
        request.on('error', reject);
      });
    for (let i = 0; i < WORKERS; i++) {
      expect((await ask(`${url}/`)).text).toContain('<html');
      expect(JSON.parse((await ask(`${url}/status`)).text)).toMatchObject({ gaps: [] });
      expect(await firstEvents()).toContain('"head":');
      const faucet = z.object({ address: z.string() }).parse(JSON.parse((await ask(`${url}/devnet/faucet`)).text));
      const give = (amount: string) =>
        fetch(`${url}/devnet/faucet`, {
          method: 'POST',
          headers: { Connection: 'close' },
          body: JSON.stringify({ address: faucet.address, amount }),
        });
      expect((await give('0')).status).toBe(422);
      const given = await give('1');
      expect([given.status, await given.json()]).toEqual([
        200,
        expect.objectContaining({ message_hash: expect.any(String) }),
      ]);
    }
  });

  it('go on when one is killed, which is started again', async () => {
    const before = workersOf(run.child.pid);
    process.kill(before[0], 'SIGKILL');
    let head = 0;
    await waitFor('another worker', run, async () => {
      const shown = await seqno();
      expect(shown).toBeGreaterThanOrEqual(head);
      head = shown;
      const now = workersOf(run.child.pid);
      return now.length === WORKERS && !now.includes(before[0]);
    });
    await waitFor('both to be counted', run, async () => (await metric('tonstream_workers')) === WORKERS);
    expect(await metric('tonstream_worker_restarts_total')).toBe(1);
    for (let i = 0; i < 20 * WORKERS; i++) {
      const shown = await seqno();
      expect(shown).toBeGreaterThanOrEqual(head);
      head = shown;
    }
    await waitFor('new steps', run, async () => (await seqno()) > head);
    for (let i = 0; i < 3 * WORKERS; i++) expect((await api('transactions?limit=1')).status).toBe(200);
  });

  it('tell subscribers everything once and in order, also those whose worker is killed', async () => {
    const port = Number(new URL(url).port);
    const types = ['transactions', 'block'];
    const subscribers = Array.from({ length: 3 * WORKERS }, () => followFeed(port, { types, everything: true }));
    const live = () => subscribers.every(({ events }) => events.some(({ type }) => type === 'caught_up'));
    await waitFor('all to have caught up', run, async () => live());
    process.kill(workersOf(run.child.pid)[0], 'SIGKILL');
    const cut = () => subscribers.reduce((sum, { connections }) => sum + connections, 0) > subscribers.length;
    await waitFor('some to connect again', run, async () => cut());
    const last = (await seqno()) + 5;
    const heard = ({ events }: (typeof subscribers)[number]) =>
      events.some(({ type, block }) => type === 'block' && Block.parse(block).masterchain_block_ref.seqno >= last);
    await waitFor('all to hear of later steps', run, async () => subscribers.every(heard));
    await Promise.all(subscribers.map((subscriber) => subscriber.stop()));

    const stored: string[] = [];
    for (let mcSeqno = 1; mcSeqno < last; mcSeqno++) {
      const { text } = await api(`transactionsByMasterchainBlock?seqno=${mcSeqno}&sort=asc&limit=1000`);
      stored.push(...Page.parse(JSON.parse(text)).transactions.map(({ hash }) => hash));
    }
    for (const { events } of subscribers) {
      const told = events.flatMap(({ transactions = [] }) => Told.parse(transactions));
      expect(told.filter(({ mc_block_seqno }) => mc_block_seqno < last).map(({ hash }) => hash)).toEqual(stored);
    }
  });

  it('end with the main process, asked or killed, and leave nothing behind', async () => {
    const everything = () => listProcesses().filter(({ command }) => command.includes(folder.path));
    let workers = workersOf(run.child.pid);
    const told = get(`${url}/live`, { agent: false });
    told.on('error', () => undefined);
    run.child.kill('SIGTERM');
    expect(await run.ended).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
    expect(everything()).toEqual([]);
    await start();
    workers = workersOf(run.child.pid);
    expect(workers).toHaveLength(WORKERS);
    await run.kill('SIGKILL');
    await waitFor('the workers to end', null, async () => !workers.some(isAlive));
    await waitFor('the rest to end', null, async () => everything().length === 0);
  });

  it('say which setting is wrong when they cannot listen', async () => {
    const other = runTonstream('api', '--data-dir', folder.path, '--workers', '2', '--host', '192.0.2.1');
    expect(await other.ended).toBe(1);
    expect(other.output()).toContain('192.0.2.1 is no address of this machine: choose another with --host');
  });
});
