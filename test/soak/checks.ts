/** Whether the service shows what the log holds: each step once, whole, and nothing else. */
import { z } from 'zod';
import { ask } from './asking.ts';
import type { Journal } from './journal.ts';
import type { Shown, StepTruth, Truth } from './truth.ts';

export interface CheckOptions {
  url: string;
  journal: Journal;
  signal: AbortSignal;
}

const PAGE = 200;
const BLOCKS = z.object({
  blocks: z.array(
    z
      .object({ workchain: z.number(), shard: z.string(), seqno: z.number(), root_hash: z.string() })
      .transform(({ workchain, shard, seqno, root_hash }) => `${workchain}:${shard}:${seqno} ${root_hash}`),
  ),
  next_cursor: z.string().nullish(),
});
const TRANSACTIONS = z.object({
  transactions: z.array(z.object({ hash: z.string() }).transform(({ hash }) => hash)),
  next_cursor: z.string().nullish(),
});

type Kind = 'blocks' | 'transactions';

/** Both lists of a step. */
export async function checkStep(options: CheckOptions, { mcSeqno, blocks, transactions }: StepTruth): Promise<void> {
  await checkList(options, 'blocks', `mc_seqno=${mcSeqno}`, blocks);
  await checkList(options, 'transactions', `mc_seqno=${mcSeqno}`, transactions);
  options.journal.count('steps compared with the log');
}

/** Both lists of a stretch of time, both ends included, in either order. It must be over. */
export async function checkStretch(options: CheckOptions, truth: Truth, from: number, to: number): Promise<void> {
  const within = (list: readonly Shown[]): Shown[] => list.filter(({ utime }) => utime >= from && utime <= to);
  const steps = truth.steps();
  for (const sort of ['asc', 'desc']) {
    const query = `start_utime=${from}&end_utime=${to}&sort=${sort}`;
    await checkList(options, 'blocks', query, within(steps.flatMap(({ blocks }) => blocks)));
    await checkList(options, 'transactions', query, within(steps.flatMap(({ transactions }) => transactions)));
  }
  options.journal.count('stretches compared with the log');
}

/** All pages by cursor against what the log has. Noted as wrong when they differ. */
async function checkList(options: CheckOptions, kind: Kind, query: string, expected: readonly Shown[]): Promise<void> {
  const { journal, signal } = options;
  const found = await readAll(options, kind, query);
  if (found === null || signal.aborted) return;
  journal.count('lists compared with the log');
  const wanted = new Set(expected.map(({ name }) => name));
  const seen = new Set(found);
  const missing = [...wanted].filter((name) => !seen.has(name));
  const strange = [...seen].filter((name) => !wanted.has(name));
  if (missing.length + strange.length === 0 && seen.size === found.length) return;
  journal.wrong(
    `/${kind}?${query}: ${found.length} shown, ${found.length - seen.size} of them twice, ` +
      `${missing.length} missing (${missing.slice(0, 3)}), ${strange.length} that the log does not have`,
  );
}

/** Null when a request failed; it is noted. */
async function readAll({ url, journal, signal }: CheckOptions, kind: Kind, query: string): Promise<string[] | null> {
  const found: string[] = [];
  let cursor = '';
  while (!signal.aborted) {
    const path = `/api/v3/${kind}?${query}&limit=${PAGE}&cursor=${encodeURIComponent(cursor)}`;
    const begun = performance.now();
    try {
      const { status, text, tookMs } = await ask(`${url}${path}`, 'new');
      if (status !== 200) {
        journal.failed(path, `status ${status}: ${text.slice(0, 200)}`, begun);
        return null;
      }
      journal.answered(`/api/v3/${kind} (checks)`, status, tookMs);
      const page = pageOf(kind, JSON.parse(text));
      found.push(...page.names);
      if (!page.next) return found;
      cursor = page.next;
    } catch (error) {
      if (error instanceof z.ZodError) throw error;
      journal.failed(path, error instanceof Error ? error.message : String(error), begun);
      return null;
    }
  }
  return null;
}

function pageOf(kind: Kind, body: unknown): { names: string[]; next: string | null | undefined } {
  if (kind === 'blocks') {
    const { blocks: names, next_cursor: next } = BLOCKS.parse(body);
    return { names, next };
  }
  const { transactions: names, next_cursor: next } = TRANSACTIONS.parse(body);
  return { names, next };
}
