import type { BlockIdExt } from '../../src/chain/model.ts';
import { FULL_SHARD } from '../../src/chain/shard-ident.ts';
import { type ChainNode, NodeError } from '../../src/node/chain-node.ts';

/** Where an empty log begins. A time is in Unix seconds. */
export type StartPoint = 'head' | 'genesis' | { seqno: number } | { utime: number };

/** A start point that cannot be read; the message says what is accepted. */
export class StartPointError extends Error {
  override name = 'StartPointError';
}

/** No masterchain gets this far at a block every 0.4 s before 2038, and no TON block is older than this second. */
const LEAST_UTIME = 1_500_000_000;
const ISO_DATE = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Reads `head`, `genesis`, a masterchain seqno, Unix seconds (numbers from 1500000000 on) or an ISO 8601 date, which
 * counts as UTC when it names no zone.
 * @throws {StartPointError}
 */
export function parseStart(text: string): StartPoint {
  if (text === 'head' || text === 'genesis') return text;
  if (/^\d{1,10}$/.test(text)) {
    const number = Number(text);
    if (number >= LEAST_UTIME) return { utime: number };
    if (number > 0) return { seqno: number };
  }
  if (ISO_DATE.test(text)) {
    const zoned = text.length === 10 || /(Z|[+-]\d\d:\d\d)$/.test(text) ? text : `${text}Z`;
    const ms = Date.parse(zoned);
    if (!Number.isNaN(ms)) return { utime: Math.floor(ms / 1000) };
  }
  throw new StartPointError(
    `--from: ${JSON.stringify(text)} is no start: give head, genesis, a masterchain seqno, Unix seconds or an ISO date`,
  );
}

/** The start that the settings name: by default the beginning of a devnet, the head of any other network. */
export function startPoint({ from, network }: { from?: string | undefined; network: string }): StartPoint {
  return parseStart(from ?? (network === 'devnet' ? 'genesis' : 'head'));
}

/** As the person wrote it, as far as that is known. */
export function startText(start: StartPoint): string {
  if (typeof start === 'string') return start;
  return 'seqno' in start ? String(start.seqno) : new Date(start.utime * 1000).toISOString();
}

/**
 * The first masterchain seqno of a log that begins at a start point. For a time that is the first block generated at
 * or after it; for one that the chain has not reached, the block behind the head.
 * @throws {NodeError}
 */
export async function firstSeqno(
  start: StartPoint,
  node: ChainNode,
  head: BlockIdExt,
  signal: AbortSignal,
): Promise<number> {
  if (start === 'head') return Math.max(1, head.seqno);
  if (start === 'genesis') return 1;
  if ('seqno' in start) return start.seqno;
  try {
    const before = await node.lookupByUtime({ workchain: -1, shard: FULL_SHARD }, start.utime - 1, signal);
    return before.seqno + 1;
  } catch (error) {
    // The chain began later: there is no block before that time.
    if (error instanceof NodeError && error.code === 'not_found') return 1;
    throw error;
  }
}
