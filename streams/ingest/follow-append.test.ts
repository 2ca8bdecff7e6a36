import { hash } from 'node:crypto';
import { expect, it } from 'vitest';
import { FULL_SHARD } from '../../src/chain/shard-ident.ts';
import { madeHash } from '../../test/made-chain.ts';
import { type EventLog, LogError } from '../log.ts';
import { createStepWriter } from './follow-append.ts';
import type { FetchedStep } from './follow-steps.ts';

function step(mcSeqno: number): FetchedStep {
  const boc = Buffer.from(`masterchain block ${mcSeqno}`);
  const id = {
    workchain: -1,
    shard: FULL_SHARD,
    seqno: mcSeqno,
    rootHash: madeHash('root'),
    fileHash: hash('sha256', boc, 'buffer'),
  };
  const master = {
    id,
    globalId: -3,
    globalVersion: 1,
    genUtime: 1,
    masterRefSeqno: null,
    prev: [],
    boc,
    receivedAtMs: 1,
    tops: [],
  };
  return { mcSeqno, blocks: [master], master, bytes: boc.length, seenAtMs: null };
}

it('lets nothing be done between two appends once it is not known where the log ends', async () => {
  let end = 0;
  let answers = true;
  const append: EventLog['append'] = async (_, records) => {
    end += records.length;
    // It is in the log, and the answer is lost.
    if (!answers) throw new LogError('unavailable', 'no answer');
    return { first: end - records.length, last: end - 1 };
  };
  const log = { append } as Partial<EventLog> as EventLog;
  const common = { zeroState: madeHash('zero'), source: 'lite', batchBytes: 1_000, tail: [] } as const;
  const writer = createStepWriter({ log, topic: 'blocks', nextOffset: 0, ...common });
  await writer.append([step(1)]);
  expect(await writer.between(async (nextOffset) => nextOffset)).toBe(end);
  answers = false;
  const ends: number[] = [];
  const appending = writer.append([step(2)]);
  const between = writer.between(async (nextOffset) => ends.push(nextOffset));
  await expect(appending).rejects.toThrow('no answer');
  await expect(between).rejects.toThrow('no answer');
  expect(ends).toEqual([]);
});
