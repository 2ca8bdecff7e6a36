import type { BlockIdExt } from '../src/chain/model.ts';
import { type BlockEnvelope, blockKey, decodeEnvelope } from './envelope.ts';
import { type EventLog, LogError } from './log.ts';

/** A block's place in the log, without its bytes. */
export interface BlockPlace extends BlockEnvelope {
  offset: number;
}

/** Where writing goes on after a restart. */
export interface LogHead {
  /** The newest sealed step; null when no step is sealed. */
  sealed: {
    mcSeqno: number;
    /** Its last block: the masterchain block, unless the step is loose. */
    id: BlockIdExt;
    rootHash: Buffer;
    offset: number;
    globalId: number;
    /** Where the next step starts. */
    nextOffset: number;
  } | null;
  /** Blocks of the step after it that are already in the log, oldest first, without repeated ones. */
  tail: BlockPlace[];
}

/** Records first looked at from the end of the log; more when no step ends among them. */
const HEAD_RECORDS = 64;
/** Repeated records can put a lower seqno behind a higher one; how far around a search result to look for that. */
const DISORDER_RECORDS = 64;
const SCAN_BYTES = 16 * 1024 * 1024;

/** The envelopes of a range of offsets; the values are dropped batch by batch. */
async function* scan(log: EventLog, topic: string, from: number, to: number): AsyncGenerator<BlockPlace> {
  if (from >= to) return;
  const abort = new AbortController();
  try {
    const batches = log.read(topic, from, { maxBytes: SCAN_BYTES, signal: abort.signal, stopAtEnd: true });
    for await (const batch of batches) {
      for (const record of batch) {
        if (record.offset >= to) return;
        yield { ...decodeEnvelope(record, topic), offset: record.offset };
      }
    }
  } finally {
    abort.abort();
  }
}

/**
 * The newest sealed step and what the log holds of the one after it.
 * @throws {EnvelopeError} @throws {LogError}
 */
export async function lastSealed(log: EventLog, topic: string): Promise<LogHead> {
  const low = await log.low(topic);
  const end = await log.end(topic);
  for (let window = HEAD_RECORDS; ; window *= 4) {
    const from = Math.max(low, end - window);
    const head = await headOf(scan(log, topic, from, end));
    if (head.sealed !== null || from === low) return head;
  }
}

async function headOf(places: AsyncIterable<BlockPlace>): Promise<LogHead> {
  let sealed: LogHead['sealed'] = null;
  const open = new Map<string, BlockPlace>();
  for await (const place of places) {
    if (sealed !== null && place.mcSeqno <= sealed.mcSeqno) continue;
    if (place.seal === null) {
      const key = blockKey(place.id);
      if (!open.has(key)) open.set(key, place);
      continue;
    }
    const { mcSeqno, id, globalId, offset } = place;
    sealed = { mcSeqno, id, rootHash: id.rootHash, offset, globalId, nextOffset: offset + 1 };
    open.clear();
  }
  return { sealed, tail: [...open.values()] };
}

/** The oldest whole step of the log: 0 unless the log was trimmed. Null when there is none. */
export async function firstStep(log: EventLog, topic: string): Promise<{ mcSeqno: number; offset: number } | null> {
  const low = await log.low(topic);
  const ids = new Set<string>();
  let start = low;
  let startSeqno: number | null = null;
  for await (const place of scan(log, topic, low, await log.end(topic))) {
    startSeqno ??= place.mcSeqno;
    ids.add(blockKey(place.id));
    if (place.seal === null) continue;
    // After a trim the first step may have lost its first blocks.
    if (ids.size === place.seal && startSeqno === place.mcSeqno) return { mcSeqno: place.mcSeqno, offset: start };
    ids.clear();
    start = place.offset + 1;
    startSeqno = null;
  }
  return null;
}

/**
 * The first offset of a step, by binary search, since masterchain seqnos grow along the log. Null when the log does
 * not hold the step's first record. The step itself need not be sealed.
 * @throws {EnvelopeError} @throws {LogError}
 */
export async function offsetOfStep(log: EventLog, topic: string, mcSeqno: number): Promise<number | null> {
  const low = await log.low(topic);
  const end = await log.end(topic);
  let before = low;
  let after = end;
  while (before < after) {
    const middle = Math.floor((before + after) / 2);
    if ((await seqnoAt(log, topic, middle)) >= mcSeqno) after = middle;
    else before = middle + 1;
  }
  const from = Math.max(low, before - DISORDER_RECORDS);
  const to = Math.min(end, before + DISORDER_RECORDS);
  for await (const place of scan(log, topic, from, to)) {
    if (place.mcSeqno === mcSeqno) return place.offset;
    if (place.mcSeqno > mcSeqno) return null;
  }
  return null;
}

async function seqnoAt(log: EventLog, topic: string, offset: number): Promise<number> {
  const record = await log.get(topic, offset);
  if (record === null) throw new LogError('trimmed', `topic ${topic}: offset ${offset} went away during a search`);
  return decodeEnvelope(record, topic).mcSeqno;
}
