/** The life of messages on the chain of a running service. */
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { readV3, type Stack, shownHead, until } from '../stack.ts';

/** A trace of the devnet's traffic has ended so many steps after a transaction of it. */
const ENDED_STEPS = 25;

const life = z.looseObject({
  stage: z.string(),
  seen_utime_ms: z.number().nullable(),
  included_utime: z.number().nullable(),
  included_mc_seqno: z.number().nullable(),
  complete_utime: z.number().nullable(),
  complete_mc_seqno: z.number().nullable(),
  transaction: z.string().nullable(),
  trace: z.looseObject({ trace_id: z.string(), actions: z.array(z.unknown()) }).nullable(),
});
const message = z.object({ hash: z.string(), hash_norm: z.string().optional(), source: z.string().nullable() });
const transactions = z.object({
  transactions: z.array(
    z.object({ hash: z.string(), now: z.number(), mc_block_seqno: z.number(), in_msg: message.nullable() }),
  ),
});
const traces = z.object({ traces: z.array(z.looseObject({ trace_id: z.string(), mc_seqno_end: z.string() })) });

/** @param upAt Unix seconds by which the service was up: what was sent before it could not note */
export function describeMessages(stack: () => Stack, upAt: () => number): void {
  const get = <T>(path: string, shape: z.ZodType<T>): Promise<T> => readV3(stack().url, path, shape);
  const lifeOf = (hash: string) => get(`messageTrace?hash=${encodeURIComponent(hash)}`, life);

  it('tells of each message what its trace tells, by any of its hashes', async () => {
    // Old enough that their traces have ended.
    const some = await until('traces that have ended', async () => {
      const query = `transactions?limit=40&start_utime=${upAt() + 1}&sort=asc`;
      const { transactions: found } = await get(query, transactions);
      const step = found.length < 40 ? Number.POSITIVE_INFINITY : Math.max(...found.map((one) => one.mc_block_seqno));
      return (await shownHead(stack().url)) > step + ENDED_STEPS ? found : null;
    });
    const told = some.filter((one) => one.in_msg !== null);
    expect(told.some(({ in_msg }) => in_msg?.source === null)).toBe(true);
    for (const { hash, now, mc_block_seqno: step, in_msg } of told) {
      const query = `traces?include_actions=true&tx_hash=${encodeURIComponent(hash)}`;
      const [trace] = (await get(query, traces)).traces;
      const names = [hash, in_msg?.hash, in_msg?.hash_norm].filter((name) => name !== undefined);
      for (const name of names) {
        const found = await lifeOf(name);
        expect(found).toMatchObject({
          stage: 'complete',
          transaction: hash,
          included_utime: now,
          included_mc_seqno: step,
        });
        expect(found.complete_mc_seqno).toBe(Number(trace.mc_seqno_end));
        expect(isDeepStrictEqual(found.trace, trace)).toBe(true);
        // What the people of the devnet send is noted as what a host of ours sends.
        if (in_msg?.source === null) expect(found.seen_utime_ms).toBeGreaterThan(0);
      }
    }
  });
}
