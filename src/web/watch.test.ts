import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { createFakeSource } from '../../test/fake-source.ts';
import { madeBlock, madeHead } from '../../test/made-chain.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { Status } from '../status.ts';
import type { Push } from './push.ts';
import { createWatch, type Watch } from './watch.ts';

/** Longest wait for what comes by itself, on a machine that is busy with other tests. */
const PATIENCE = { timeout: 180_000, interval: 5 };

const STATUS: Status = {
  log: { mc_seqno: 9 },
  projected: { mc_seqno: 7 },
  lag_steps: 2,
  rows: { blocks: 20, transactions: 100 },
  waiting_contracts: 0,
  gaps: [],
};

/** A push that keeps what is published. */
function notes() {
  const published: { kind: string; data: unknown }[] = [];
  const push: Push = {
    listeners: 0,
    open: true,
    join: () => true,
    publish: (kind, data) => published.push({ kind, data }),
    close: () => undefined,
  };
  const of = (kind: string) => published.filter((event) => event.kind === kind).map(({ data }) => data);
  return { push, of };
}

let watch: Watch;
afterEach(() => watch.set(false));

function start(answers: Partial<ChainSource> = {}, status = async () => STATUS) {
  const { source, asked } = createFakeSource(answers);
  const head = madeHead(7);
  const reported: unknown[] = [];
  const { push, of } = notes();
  const pace = { queryTimeoutMs: 3_000, chainEveryMs: 20, statusEveryMs: 10 };
  const chain = { head, globalId: () => -3, testnet: () => true };
  watch = createWatch({ source, status, ...chain, push, ...pace, report: (error) => reported.push(error) });
  return { head, asked, reported, of, questions: () => asked.filter(({ method }) => method === 'blocks').length };
}

describe('watch', () => {
  it('asks nothing while nobody listens', async () => {
    const { head, asked, of } = start();
    head.advance(8);
    await sleep(30);
    expect(asked).toEqual([]);
    expect(of('status')).toEqual([]);
  });

  it('tells of the pipeline', async () => {
    const { of } = start();
    watch.set(true);
    await vi.waitFor(() => expect(of('status').length).toBeGreaterThan(1), PATIENCE);
    const { rows } = STATUS;
    expect(of('status')[0]).toEqual({ log: 9, projected: 7, lag: 2, rows, gaps: 0, perSecond: null });
    expect(of('status')[1]).toMatchObject({ perSecond: 0 });
  });

  it('asks once for each head, and once for many that come together', async () => {
    const { head, of, questions } = start();
    watch.set(true);
    watch.set(true);
    await vi.waitFor(() => expect(of('chain')).toEqual([expect.objectContaining({ head: 7 })]), PATIENCE);
    await sleep(60);
    expect(questions()).toBe(1);
    for (let seqno = 8; seqno <= 100; seqno++) head.advance(seqno);
    await vi.waitFor(() => expect(of('chain').at(-1)).toMatchObject({ head: 100 }), PATIENCE);
    expect(questions()).toBeLessThanOrEqual(3);
  });

  it('catches up when somebody listens again, and asks nothing that it knows', async () => {
    const { head, of, questions } = start();
    watch.set(true);
    await vi.waitFor(() => expect(of('chain')).toHaveLength(1), PATIENCE);
    watch.set(false);
    watch.set(true);
    await sleep(30);
    expect(questions()).toBe(1);
    watch.set(false);
    head.advance(8);
    await sleep(30);
    expect(questions()).toBe(1);
    watch.set(true);
    await vi.waitFor(() => expect(of('chain').at(-1)).toMatchObject({ head: 8 }), PATIENCE);
  });

  it('says once that a part cannot be read, tries on, and says when it can', async () => {
    let failing = true;
    const { of, reported, questions } = start({
      async blocks() {
        if (failing) throw new Error('the server does not answer');
        return { rows: [madeBlock({ mcSeqno: 7 })], nextCursor: null };
      },
    });
    watch.set(true);
    await vi.waitFor(() => expect(questions()).toBeGreaterThan(3), PATIENCE);
    expect(of('trouble')).toEqual([['chain']]);
    expect(reported).toEqual([new Error('the server does not answer')]);
    expect(of('status').length).toBeGreaterThan(0);
    failing = false;
    await vi.waitFor(() => expect(of('chain')).toHaveLength(1), PATIENCE);
    expect(of('trouble')).toEqual([['chain'], []]);
  });

  it('gives up a question nobody waits for', async () => {
    let gaveUp = false;
    const { reported, questions } = start({
      blocks: (_filter, { signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            gaveUp = true;
            reject(signal.reason);
          });
        }),
    });
    watch.set(true);
    await vi.waitFor(() => expect(questions()).toBe(1), PATIENCE);
    watch.set(false);
    await vi.waitFor(() => expect(gaveUp).toBe(true), PATIENCE);
    await sleep(10);
    expect(reported).toEqual([]);
  });
});
