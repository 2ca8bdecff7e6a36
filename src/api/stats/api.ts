/** `/api/stats`: hours and days of the chain, exact as of the head. */
import { z } from 'zod';
import type { Buckets, ChainMeasure, StatisticsQueries, SubjectRow } from '../../../clickhouse/queries/statistics.ts';
import { SUMS, type SubjectKind } from '../../../clickhouse/tables/statistics.ts';
import { parseAddress, rawAddress } from '../../chain/address.ts';
import type { QueryContext } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import { PLAIN_FORM } from '../form.ts';
import { type Parameters, scalar } from '../parameters.ts';
import { type Api, type Asker, bind, type Declaration, declare, type Route } from '../route.ts';
import { parseOpcode } from '../v3/parameters.ts';
import { bucketParameters, limit, rangeOf } from './parameters.ts';
import { counters, points, subjectPoints } from './schemas.ts';

interface Series {
  path: string;
  summary: string;
  unit: string;
  measure: ChainMeasure;
}

const one = (path: string, measure: ChainMeasure, unit: string, summary: string): Series => ({
  path,
  summary,
  unit,
  measure,
});

/** Of the chain, as `chain_statistics` has them. */
const SERIES: readonly Series[] = [
  one('/blocks', 'blocks', 'blocks', 'Blocks of all chains'),
  one('/transactions', 'transactions', 'transactions', 'Transactions'),
  one('/failed_transactions', 'failed', 'transactions', 'Transactions that were aborted'),
  one('/messages', 'messages', 'messages', 'Messages received by transactions, or sent out of the chain'),
  one('/external_messages', 'externalIn', 'messages', 'Messages from outside'),
  one('/traces', 'traces', 'traces', 'Traces begun'),
  one('/new_accounts', 'newAccounts', 'accounts', 'Accounts that came to exist'),
  one('/deployments', 'deployments', 'accounts', 'Accounts that became active'),
  one('/active_accounts', 'activeAccounts', 'accounts', 'Different accounts with a transaction'),
  one('/gas', 'gas', 'gas', 'Gas used'),
  one('/fees', 'fees', 'nanotons', 'Fees of transactions'),
  one('/value', 'value', 'nanotons', 'Value of the internal messages that were received'),
];

interface SubjectSeries {
  path: string;
  kind: SubjectKind;
  summary: string;
  /** The parameter that asks for one of them. */
  name: string;
  about: string;
  /** As the tables write it; null for what is none. */
  read(text: string): string | null;
}

const SUBJECTS: readonly SubjectSeries[] = [
  {
    path: '/opcodes',
    kind: 'opcode',
    summary: 'Internal messages by opcode; beyond the 256 most used of an hour all are `other`',
    name: 'opcode',
    about: 'This one alone: a number, `none` for messages without one, or `other`.',
    read(word) {
      if (word === 'none' || word === 'other') return word === 'none' ? '' : word;
      const opcode = parseOpcode(word);
      return opcode === null ? null : `0x${opcode.toString(16).padStart(8, '0')}`;
    },
  },
  {
    path: '/jettons',
    kind: 'jetton',
    summary: 'Transfers by jetton',
    name: 'jetton',
    about: 'This one alone: the address of its master.',
    read(word) {
      const address = parseAddress(word);
      return address && rawAddress(address);
    },
  },
  {
    path: '/actions',
    kind: 'action',
    summary: 'Actions by type, those that are no part of others',
    name: 'type',
    about: 'This one alone.',
    read: (word) => (/^[A-Za-z0-9_.]{1,100}$/.test(word) ? word : null),
  },
];

const DOCUMENT: Api['document'] = {
  title: 'tonstream statistics',
  description:
    'What hours and days add up to, in UTC: counted out of the same rows as all other answers, exact as of the step `mc_seqno`. ' +
    'A bucket that is `open` still grows. Buckets from before the first step of the index are not told.',
  headers: [{ name: 'X-Timeout', type: 'integer', description: 'Milliseconds for each query of the request.' }],
  failures: {
    404: 'Nothing is indexed yet.',
    422: 'A parameter cannot be read, or asks for too many buckets or rows.',
    429: 'Too many queries at once: try again after the seconds in `Retry-After`.',
    500: 'The service failed.',
  },
};

interface Asked {
  statistics: StatisticsQueries;
  context: QueryContext;
}

function refuse(issues: readonly z.core.$ZodIssue[]): ApiError {
  const [{ path, message, code }] = issues;
  const name = path.join('.');
  if (code === 'custom') return new ApiError(422, `${name} cannot be read`);
  return new ApiError(422, `${name}: ${message}`);
}

const route = <T extends Parameters>(declaration: Declaration<T, Asked>): Route<Asked> => declare(declaration, refuse);

export function statsApi(statistics: StatisticsQueries): Api {
  const asked = ({ context }: Asker): Asked => ({ statistics, context });
  const routes = [...SERIES.map(chainRoute), ...SUBJECTS.map(subjectRoute), countersRoute()];
  return {
    base: '/api/stats',
    version: '1.0.0',
    document: DOCUMENT,
    form: PLAIN_FORM,
    routes: routes.map((one) => bind(one, asked)),
  };
}

function chainRoute({ path, measure, unit, summary }: Series): Route<Asked> {
  return route({
    path,
    tag: 'chain',
    summary,
    parameters: z.object(bucketParameters),
    response: points,
    async answer({ resolution, from, to }, { statistics, context }) {
      const found = present(
        await statistics.chain({ resolution, measure, range: rangeOf({ resolution, from, to }) }, context),
      );
      return answerOf(path, { unit, resolution }, found, (value) => (isWide(unit) ? value : Number(value)));
    },
  });
}

function subjectRoute({ path, kind, summary, name, about, read }: SubjectSeries): Route<Asked> {
  return route({
    path,
    tag: 'subjects',
    summary,
    parameters: z.object({
      ...bucketParameters,
      [name]: scalar(read, { type: 'string', description: about }),
      limit,
    }),
    response: subjectPoints,
    async answer(parameters, { statistics, context }) {
      const { resolution, from, to, limit: most } = parameters;
      const subject = z
        .string()
        .optional()
        .parse(parameters[name as keyof typeof parameters]);
      const range = rangeOf({ resolution, from, to }, subject === undefined ? most : 1);
      const found = present(await statistics.subjects({ resolution, range, kind, subject, limit: most }, context));
      return answerOf(path, { unit: UNITS[kind], resolution }, found, (rows) => rows.map(subjectJson));
    },
  });
}

const UNITS: Record<SubjectKind, string> = { opcode: 'messages', jetton: 'transfers', action: 'actions' };

function countersRoute(): Route<Asked> {
  return route({
    path: '/counters',
    tag: 'chain',
    summary: 'What the whole index adds up to',
    parameters: z.object({}),
    response: counters,
    async answer(_, { statistics, context }) {
      const { range, sums } = present(await statistics.totals(context));
      const told = SERIES.filter(({ measure }) => SUMS.some((name) => name === measure)).map(
        ({ path, measure, unit }) => {
          const value = sums[measure as (typeof SUMS)[number]];
          return [path.slice(1), isWide(unit) ? value : Number(value)] as const;
        },
      );
      const { mcSeqno, time, first } = range;
      return JSON.stringify({ mc_seqno: mcSeqno, gen_utime: time, since: first, ...Object.fromEntries(told) });
    },
  });
}

/** Of what amounts are written as text, for they may be beyond what a number holds. */
const isWide = (unit: string): boolean => unit === 'nanotons' || unit === 'gas';

function present<T>(found: T | null): T {
  if (found === null) throw new ApiError(404, 'nothing is indexed yet');
  return found;
}

function answerOf<T>(
  path: string,
  { unit, resolution }: { unit: string; resolution: string },
  { mcSeqno, time, points: found }: Buckets<T>,
  value: (value: T) => unknown,
): string {
  const told = found.map((point) => ({ from: point.from, open: point.isOpen, value: value(point.value) }));
  return JSON.stringify({ series: path.slice(1), unit, resolution, mc_seqno: mcSeqno, gen_utime: time, points: told });
}

const countOf = (count: string | null): number | null => (count === null ? null : Number(count));

function subjectJson({ subject, count, failed, amount, senders, receivers }: SubjectRow) {
  return {
    subject,
    count: Number(count),
    failed: countOf(failed),
    amount,
    senders: countOf(senders),
    receivers: countOf(receivers),
  };
}
