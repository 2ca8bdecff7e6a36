import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Answer, makeAnswer } from './answers.ts';
import { Caller } from './request.ts';
import { createSharedAnswers } from './shared-answers.ts';

const MB = 1024 * 1024;

/** Answers that come when the test says so. */
function workshop() {
  const orders: { context: Caller; finish(json: string): void; fail(error: Error): void }[] = [];
  const compute = (context: Caller) =>
    new Promise<Answer>((resolve, reject) => {
      orders.push({ context, finish: (json) => resolve(makeAnswer(json, false)), fail: reject });
    });
  return { orders, compute };
}

function asker() {
  const context = new Caller(100);
  return { context, leave: () => context.leave(new Error('gone')) };
}

describe('shared answers', () => {
  it('make one answer for all who ask at once, and keep it', async () => {
    const shared = createSharedAnswers({ maxBytes: MB });
    const { orders, compute } = workshop();
    const asked = Array.from({ length: 50 }, () => shared.get('q', '1', asker().context, compute));
    orders[0].finish('{}');
    const answers = await Promise.all(asked);
    expect(new Set(answers).size).toBe(1);
    expect(await shared.get('q', '1', asker().context, compute)).toBe(answers[0]);
    expect(orders).toHaveLength(1);
    expect(shared.figures).toMatchObject({ made: 1, shared: 49, kept: 1 });
  });

  it('make another for another question and another version', async () => {
    const shared = createSharedAnswers({ maxBytes: MB });
    const { orders, compute } = workshop();
    const places = [
      ['q', '1'],
      ['q', '2'],
      ['r', '1'],
    ] as const;
    const asked = places.map(([question, version]) => shared.get(question, version, asker().context, compute));
    for (const [i, order] of orders.entries()) order.finish(`${i}`);
    expect((await Promise.all(asked)).map(({ json }) => json.toString())).toEqual(['0', '1', '2']);
  });

  it('go on when one who waits hangs up, the first too', async () => {
    const shared = createSharedAnswers({ maxBytes: MB });
    const { orders, compute } = workshop();
    const [first, second] = [asker(), asker()];
    const asked = [shared.get('q', '1', first.context, compute), shared.get('q', '1', second.context, compute)];
    first.leave();
    expect(orders[0].context.signal.aborted).toBe(false);
    orders[0].finish('{}');
    expect((await asked[1]).json.toString()).toBe('{}');
  });

  it('stop when all who waited have gone, and begin anew for who comes then', async () => {
    const shared = createSharedAnswers({ maxBytes: MB });
    const { orders, compute } = workshop();
    const askers = [asker(), asker()];
    const asked = askers.map(({ context }) => shared.get('q', '1', context, compute));
    for (const { leave } of askers) leave();
    const { signal } = orders[0].context;
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toEqual(new Error('gone'));
    const late = shared.get('q', '1', asker().context, compute);
    orders[0].fail(new Error('was stopped'));
    for (const answer of asked) await expect(answer).rejects.toThrow('was stopped');
    orders[1].finish('{}');
    expect((await late).json.toString()).toBe('{}');
  });

  it('refuse who has gone already', async () => {
    const { context, leave } = asker();
    leave();
    const { orders, compute } = workshop();
    await expect(createSharedAnswers({ maxBytes: MB }).get('q', '1', context, compute)).rejects.toThrow('gone');
    expect(orders).toHaveLength(0);
  });

  it('tell a failure to all who wait, and do not keep it', async () => {
    const shared = createSharedAnswers({ maxBytes: MB });
    const { orders, compute } = workshop();
    const asked = [asker(), asker()].map(({ context }) => shared.get('q', '1', context, compute));
    orders[0].fail(new Error('no'));
    for (const answer of asked) await expect(answer).rejects.toThrow('no');
    const again = shared.get('q', '1', asker().context, compute);
    orders[1].finish('{}');
    expect((await again).json.toString()).toBe('{}');
  });

  it('take no more room and no more entries than they are given', async () => {
    const shared = createSharedAnswers({ maxBytes: 100_000, maxEntries: 10, maxAgeMs: 60_000 });
    let made = 0;
    const ask = (question: string, length: number) =>
      shared.get(question, '1', asker().context, async () => {
        made++;
        return makeAnswer('x'.repeat(length), false);
      });
    for (let i = 0; i < 30; i++) await ask(`small ${i}`, 10);
    made = 0;
    for (let i = 20; i < 30; i++) await ask(`small ${i}`, 10);
    expect(made).toBe(0);
    for (let i = 0; i < 30; i++) {
      await ask(`middle ${i}`, 7_000);
      expect(shared.figures.bytes).toBeLessThanOrEqual(100_000);
    }
    made = 0;
    for (let i = 0; i < 2; i++) await ask('large', 50_000);
    expect(made).toBe(2);
  });

  it.each([
    ['after a while', { maxBytes: MB, maxAgeMs: 20 }],
    ['at once when they have no room', { maxBytes: 0 }],
  ])('forget an answer %s', async (_when, options) => {
    const shared = createSharedAnswers(options);
    const ask = () => shared.get('q', '1', asker().context, async () => makeAnswer('{}', false));
    await ask();
    await sleep(60);
    await ask();
    expect(shared.figures).toMatchObject({ made: 2, kept: 0 });
  });
});
