/** Asks both the same and tells where they differ: by status, and by member of the result. */
import { Cell } from '@ton/core';
import { z } from 'zod';
import { KNOWN } from './known.ts';
import { isPosted, type Question } from './questions.ts';
import type { Stage } from './stage.ts';

export interface Answer {
  status: number;
  /** Undefined for a refusal. */
  result?: unknown;
  error?: string;
}

/** One place where the answers differ; `path` is empty for the status. */
export interface Difference {
  question: Question;
  form: Form;
  path: string;
  ours: unknown;
  theirs: unknown;
  answers: { ours: Answer; theirs: Answer };
}

export type Form = 'plain' | 'jsonRPC';

const WAIT_MS = 60_000;

const enveloped = z.looseObject({ result: z.unknown().optional(), error: z.unknown().optional() });

function sent(base: string, { method, parameters }: Question, form: Form): [string, RequestInit] {
  const post = (path: string, body: object): [string, RequestInit] => [
    `${base}/${path}`,
    { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
  ];
  if (form === 'jsonRPC') return post('jsonRPC', { jsonrpc: '2.0', id: 1, method, params: parameters });
  if (isPosted(method)) return post(method, parameters);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  return [`${base}/${method}?${query}`, {}];
}

async function ask(base: string, question: Question, form: Form): Promise<Answer> {
  const [url, init] = sent(base, question, form);
  // On a connection of its own: the reference closes idle ones whenever it likes.
  const headers = { ...init.headers, Connection: 'close' };
  const response = await fetch(url, { ...init, headers, signal: AbortSignal.timeout(WAIT_MS) });
  const { result, error } = enveloped.parse(await response.json());
  return { status: response.status, ...(response.ok ? { result } : { error: String(error) }) };
}

/** Bags of cells by the hashes of their roots, however they are written. */
function plain(value: unknown): unknown {
  if (typeof value === 'string' && /^te6c[ck]/.test(value)) {
    try {
      return Cell.fromBoc(Buffer.from(value, 'base64'))
        .map((root) => `cell ${root.hash().toString('hex')}`)
        .join();
    } catch {
      return value;
    }
  }
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  // What tonlib tells of each answer: which server gave it, and when.
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== '@extra')
      .map(([name, inner]) => [name, plain(inner)]),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

type Pair = { path: string; ours: unknown; theirs: unknown };

function* differ(ours: unknown, theirs: unknown, path: string): Generator<Pair> {
  if (Array.isArray(ours) && Array.isArray(theirs) && ours.length === theirs.length) {
    for (const [i, one] of ours.entries()) yield* differ(one, theirs[i], `${path}[]`);
  } else if (isRecord(ours) && isRecord(theirs)) {
    for (const name of new Set([...Object.keys(ours), ...Object.keys(theirs)]))
      yield* differ(ours[name], theirs[name], path === '' ? name : `${path}.${name}`);
  } else if (!Object.is(ours, theirs)) {
    yield { path: path === '' ? 'result' : path, ours, theirs };
  }
}

function differences(question: Question, form: Form, ours: Answer, theirs: Answer): Difference[] {
  const about = { question, form, answers: { ours, theirs } };
  if (ours.status !== theirs.status) return [{ ...about, path: '', ours: ours.status, theirs: theirs.status }];
  return [...differ(plain(ours.result), plain(theirs.result), '')].map((pair) => ({ ...about, ...pair }));
}

export interface Comparison {
  asked: number;
  /** How often each known difference was met, by what explains it. */
  explained: Map<string, number>;
  unexplained: Difference[];
}

const AT_ONCE = 4;
/** The older server gives a liteserver ten seconds, which a busy machine may take: a question is asked so often. */
const TIMES = 3;
const isLate = ({ status, error }: Answer): boolean => status === 504 && error === 'Liteserver timeout';

/** Every question in both forms that it has. */
export async function compare(
  stage: Stage,
  questions: readonly Question[],
  forms: readonly Form[],
): Promise<Comparison> {
  const found: Comparison = { asked: 0, explained: new Map(), unexplained: [] };
  const waiting = questions.flatMap((question) => forms.map((form) => ({ question, form })));
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { question, form } = next;
      found.asked++;
      for (let time = 1; ; time++) {
        const [ours, theirs] = await Promise.all([stage.ours, stage.theirs].map((base) => ask(base, question, form)));
        const differing = differences(question, form, ours, theirs).map((difference) => ({
          difference,
          known: KNOWN.find(({ holds }) => holds(difference)),
        }));
        if (isLate(theirs) && time < TIMES && differing.some(({ known }) => known === undefined)) continue;
        for (const { difference, known } of differing) {
          if (known === undefined) found.unexplained.push(difference);
          else found.explained.set(known.why, (found.explained.get(known.why) ?? 0) + 1);
        }
        break;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return found;
}

/** One line for each kind of difference that nothing explains, with an example. */
export function linesOf({ asked, explained, unexplained }: Comparison): string[] {
  const kinds = new Map<string, Difference[]>();
  for (const difference of unexplained) {
    const { question, path, ours, theirs } = difference;
    const kind = `${question.method}: ${path === '' ? `status ${ours} here, ${theirs} there` : path}`;
    kinds.set(kind, [...(kinds.get(kind) ?? []), difference]);
  }
  return [
    `${asked} questions`,
    ...[...explained]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([why, count]) => `  known ${String(count).padStart(6)}  ${why}`),
    ...[...kinds].map(([kind, [{ question, form, ours, theirs, answers }, ...more]]) => {
      const example = `${form} ${JSON.stringify(question.parameters)}`;
      const texts =
        (answers.ours.error ?? answers.theirs.error) ? ` (${answers.ours.error} / ${answers.theirs.error})` : '';
      const shown = [ours, theirs].map((value) => JSON.stringify(value)?.slice(0, 200)).join(' | ');
      return `UNEXPLAINED ${kind}, ${more.length + 1} times, as ${example}: ${shown}${texts}`;
    }),
  ];
}
