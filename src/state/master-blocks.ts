/** Masterchain blocks in full, from the log. */
import { decodeBlockRecord, decodeEnvelope } from '../../streams/envelope.ts';
import type { EventLog } from '../../streams/log.ts';
import { isLogAway, logAnswer } from '../../streams/log-answer.ts';
import { offsetOfStep } from '../../streams/step-search.ts';

/** The bag of cells of the masterchain block with a seqno; null when the log does not have it. */
export type MasterBlock = (mcSeqno: number) => Promise<Buffer | null>;

/** Blocks of one step that are looked through for its masterchain block, the last of them. */
const MOST_BLOCKS = 10_000;

/**
 * @param withinMs how long the log is waited for; by default as long as it tries
 * @throws (asked) {EnvelopeError} {LogError} `unavailable` where the log is away
 */
export function masterBlocks(log: EventLog, topic: string, withinMs: number | null = null): MasterBlock {
  const find: MasterBlock = async (mcSeqno) => {
    // What is asked for most is at the end of the log.
    const last = (await log.last(topic, 1))[0];
    const atEnd = last !== undefined && decodeEnvelope(last, topic).mcSeqno === mcSeqno ? last : null;
    if (atEnd !== null && isMaster(decodeEnvelope(atEnd, topic).id)) return decodeBlockRecord(atEnd, topic).boc;
    const first = await offsetOfStep(log, topic, mcSeqno);
    for (let offset = first ?? 0; first !== null && offset < first + MOST_BLOCKS; offset++) {
      const record = await log.get(topic, offset);
      if (record === null) return null;
      const { id, mcSeqno: of } = decodeEnvelope(record, topic);
      if (of > mcSeqno) return null;
      if (of === mcSeqno && isMaster(id)) return decodeBlockRecord(record, topic).boc;
    }
    return null;
  };
  return withinMs === null ? find : (mcSeqno) => logAnswer(find(mcSeqno), withinMs);
}

/** For whom a liteserver can be asked instead: null also where the log is away. */
export async function masterBlockAtHand(masterBlock: MasterBlock, mcSeqno: number): Promise<Buffer | null> {
  try {
    return await masterBlock(mcSeqno);
  } catch (error) {
    if (isLogAway(error)) return null;
    throw error;
  }
}

function isMaster({ workchain }: { workchain: number }): boolean {
  return workchain === -1;
}
