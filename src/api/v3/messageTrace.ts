import { z } from 'zod';
import { distinct } from '../../chain/hash.ts';
import type { Hash } from '../../chain/model.ts';
import type { TransactionRecord } from '../../chain/records.ts';
import type { TraceLife } from '../../pending/store.ts';
import { ApiError } from '../errors.ts';
import { supportedTypesOf } from './actions.ts';
import { hash, supportedTypes } from './parameters.ts';
import { pendingTraceJson } from './pending.ts';
import { hashOrNull } from './render/values.ts';
import { type Asked, type Route, route } from './route.ts';
import { messageTrace } from './schemas.ts';
import { findTrace, traceList } from './traces.ts';

/** A message has one sender and one receiver; the same external message can be taken more than once. */
const MOST_SIDES = 10;

/** Our own, not of the contract: the life of a message in one lookup. */
export function messageTraceRoute(): Route {
  return route({
    path: '/messageTrace',
    tag: 'actions',
    summary: 'Where a message stands, its trace and what the trace did (an extension)',
    parameters: z.object({
      hash: hash('Hash of a message, as it was sent or normalized, or of a transaction.', true),
      supported_action_types: supportedTypes(),
    }),
    response: messageTrace,
    tagged: ['hash'],
    live: true,
    async answer(p, asked) {
      if (p.hash === undefined) throw new ApiError(422, 'hash is required');
      const { addressBook, metadata } = asked;
      // However a message was sent, it is in a block and known as pending by its normal form.
      const wanted = (await asked.sent.normOf(p.hash, asked.context.signal)) ?? p.hash;
      const record = await transactionOf(wanted, asked);
      const trace = record?.traceId && (await findTrace({ traceIds: [record.traceId], growing: true }, asked));
      const began = record?.externalHash ?? null;
      const sentAt = await sentAtOf(began === null ? [wanted] : [wanted, began], asked);
      const known = supportedTypesOf(p.supported_action_types, asked);
      const { pending } = asked;
      const life = pending.lifeOf(wanted) ?? (began === null ? undefined : pending.lifeOf(began));
      const one = record === null ? pending.byMessage(wanted) : undefined;
      const [list] = trace ? await traceList([trace], known, asked) : one ? [pendingTraceJson(one, known, asked)] : [];
      const isComplete = trace?.state === 'complete';
      const stage = record === null ? stageOf(life, sentAt) : isComplete ? 'complete' : 'included';
      const { transaction = null, mcSeqno = null } = record ?? {};
      const { pendingMs = null, confirmedMs = null, finalizedMs = null, invalidatedMs = null, reason } = life ?? {};
      const times =
        `"seen_utime_ms":${sentAt},"pending_utime_ms":${pendingMs},"confirmed_utime_ms":${confirmedMs}` +
        `,"finalized_utime_ms":${finalizedMs},"invalidated_utime_ms":${invalidatedMs}` +
        `,"invalidated_reason":${reason ? `"${reason}"` : null}` +
        `,"included_utime":${transaction?.now ?? null},"included_mc_seqno":${mcSeqno}` +
        `,"complete_utime":${isComplete ? trace.endUtime : null},"complete_mc_seqno":${isComplete ? trace.mcSeqnoEnd : null}`;
      const head = `{"stage":"${stage}",${times},"transaction":${hashOrNull(transaction?.hash ?? null)},"trace":`;
      return Buffer.concat([
        Buffer.from(head),
        list ?? Buffer.from('null'),
        Buffer.from(`,"address_book":${await addressBook()},"metadata":${await metadata()}}`),
      ]);
    },
  });
}

/** Of a message that no block of the index has. */
function stageOf(life: TraceLife | undefined, sentAt: number | null): string {
  if (life === undefined) return sentAt === null ? 'unknown' : 'seen';
  if (life.invalidatedMs !== null) return 'invalidated';
  return life.confirmedMs === null ? 'pending' : 'confirmed';
}

/** The transaction with this hash, or of a message the one that received it, else the one that sent it; the newest. */
async function transactionOf(
  wanted: Hash,
  { source, context: { signal, timeoutMs } }: Asked,
): Promise<TransactionRecord | null> {
  // More is read of these rows than their forms show.
  const context = { signal, timeoutMs };
  const anyTime = { accounts: [], excludeAccounts: [], utime: {}, ltWindow: {}, sort: 'desc' as const };
  const page = { limit: MOST_SIDES, offset: 0 };
  const [named, sides] = await Promise.all([
    source.transactions({ ...anyTime, hashes: [wanted], page }, context),
    source.transactionsByMessage({ messageHashes: [wanted], sort: 'desc', page }, context),
  ]);
  const received = sides.find(({ transaction: { inMsg } }) =>
    [inMsg?.hash, inMsg?.hashNorm()].some((one) => one?.equals(wanted)),
  );
  return named.rows[0] ?? received ?? sides[0] ?? null;
}

/** Of hashes of one message, or of several of one trace, when the first was sent through us; in milliseconds. */
async function sentAtOf(hashes: readonly Hash[], { sent, context }: Asked): Promise<number | null> {
  const times = await Promise.all(distinct(hashes).map((one) => sent.sentAt(one, context.signal)));
  const known = times.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}
