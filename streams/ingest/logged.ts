import type { BlockIdExt } from '../../src/chain/model.ts';
import { blockKey, decodeBlockRecord, decodeEnvelope } from '../envelope.ts';
import { beginsBehind, type EventLog } from '../log.ts';
import { type LogHead, lastSealed, offsetOfStep } from '../step-search.ts';
import type { ShardTop } from './assembly.ts';
import { type BlockIndex, readTops } from './block-index.ts';
import { IngestError, sameHashes } from './check.ts';

/** Where the log ends. */
export interface LoggedEnd extends LogHead {
  /** `global_id` of the log's blocks, null while it is empty. */
  globalId: number | null;
  /** Root hash of the network's zero state, null when the newest and the oldest records do not tell. */
  zeroState: Buffer | null;
  /** The last sealed masterchain block and its shard tops; null when the last step is loose or there is none. */
  master: { id: BlockIdExt; tops: ShardTop[] } | null;
}

const SCAN_BYTES = 16 * 1024 * 1024;

/** @throws {EnvelopeError} @throws {LogError} `trimmed` where all it held is gone: what goes on from there is not known */
export async function readLoggedEnd(log: EventLog, topic: string): Promise<LoggedEnd> {
  const head = await lastSealed(log, topic);
  if (head.sealed === null && head.tail.length === 0) {
    // Begun anew it would go on, for those who have read it, with any other step.
    const low = await log.low(topic);
    if (low > 0) throw beginsBehind(topic, low, 0);
  }
  const globalId = head.sealed?.globalId ?? head.tail.at(0)?.globalId ?? null;
  const zeroState = await loggedZeroState(log, topic, head);
  const known = { ...head, globalId, zeroState };
  if (head.sealed === null || head.sealed.id.workchain !== -1) return { ...known, master: null };
  const { offset } = head.sealed;
  const record = await log.get(topic, offset);
  if (record === null) throw new IngestError('unreadable', null, `${topic}: the record at offset ${offset} went away`);
  const { id, boc } = decodeBlockRecord(record, topic);
  const tops = readTops(boc, { file: `${topic}, offset ${offset}`, line: null });
  return { ...known, master: { id, tops } };
}

/** Imported records do not name the zero state, those of a live chain do. */
async function loggedZeroState(log: EventLog, topic: string, { sealed, tail }: LogHead): Promise<Buffer | null> {
  for (const { zeroState } of tail) if (zeroState !== null) return zeroState;
  for (const offset of sealed === null ? [] : [sealed.offset, await log.low(topic)]) {
    const record = await log.get(topic, offset);
    const zeroState = record === null ? null : decodeEnvelope(record, topic).zeroState;
    if (zeroState !== null) return zeroState;
  }
  return null;
}

/**
 * Marks the blocks of a run that sealed steps of the log hold already, comparing hashes.
 * @param fromStep the first step to look at; null looks at the whole log
 * @throws {IngestError} `conflict` for another block under a known id
 */
export async function markLogged(
  log: EventLog,
  topic: string,
  end: LoggedEnd,
  index: BlockIndex,
  fromStep: number | null,
  signal: AbortSignal,
): Promise<void> {
  if (end.sealed === null || (fromStep !== null && fromStep > end.sealed.mcSeqno)) return;
  const known = fromStep === null ? null : await offsetOfStep(log, topic, fromStep);
  const from = known ?? (await log.low(topic));
  const { nextOffset } = end.sealed;
  if (from >= nextOffset) return;
  for await (const batch of log.read(topic, from, { maxBytes: SCAN_BYTES, signal, stopAtEnd: true })) {
    for (const record of batch) {
      if (record.offset >= nextOffset) return;
      const { id, mcSeqno } = decodeEnvelope(record, topic);
      const block = index.find(id);
      if (block === null) continue;
      if (!sameHashes(block.id, id)) {
        const what = `block ${blockKey(id)} differs from the one the log holds in step ${mcSeqno}`;
        throw new IngestError('conflict', block.place, `${what} (root hash ${id.rootHash.toString('hex')})`);
      }
      block.loggedIn = mcSeqno;
    }
  }
  signal.throwIfAborted();
}
