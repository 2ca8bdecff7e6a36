/** Runs queries: one head each, within the limits, and no more of them at a time than there is room for. */
import { Overloaded, type QueryGate } from '../../../clickhouse/gate.ts';
import { type Head, HeadBehind } from '../../../clickhouse/queries/head.ts';
import { MAX_PARAMETER_BYTES, type Parameter, parameterText, type Reader } from '../../../clickhouse/reader.ts';
import { parseAddress, rawAddress } from '../../chain/address.ts';
import { refusalOf } from './failures.ts';
import { FORMATS, type FormatName } from './formats.ts';
import type { Guard } from './guard.ts';
import type { SqlMetrics } from './metrics.ts';
import type { Outgoing } from './outgoing.ts';
import { SqlRefusal } from './refusal.ts';

export interface SqlLimits {
  timeoutMs: number;
  /** Of formats that a person reads. */
  rows: number;
  /** Of files. */
  fileRows: number;
}

export interface Question {
  sql: string;
  format: FormatName;
  parameters: ReadonlyMap<string, Parameter>;
  limit: number | null;
  asOf: number | null;
  /** Who asks, for the quota. */
  key: string;
  signal: AbortSignal;
}

export interface SqlAnswer {
  body: Buffer;
  contentType: string;
  mcSeqno: number;
  truncated: boolean;
}

export interface Queries {
  /** @throws {SqlRefusal} and what a gate that is full throws */
  answer(question: Question): Promise<SqlAnswer>;
}

export interface QueriesOptions {
  reader: Reader;
  guard: Guard;
  gate: QueryGate;
  outgoing: Pick<Outgoing, 'check'>;
  head: Pick<Head, 'seqno' | 'reach'>;
  limits: SqlLimits;
  metrics: SqlMetrics;
}

export function createQueries({ reader, guard, gate, outgoing, head, limits, metrics }: QueriesOptions): Queries {
  async function run(question: Question): Promise<SqlAnswer> {
    outgoing.check();
    const { format: name, sql, key, signal } = question;
    const format = FORMATS[name];
    const limit = rowsOf(question.limit, format.few ? limits.rows : limits.fileRows);
    const mcSeqno = await stepOf(question.asOf, signal);
    const parameters = new Map(
      [...question.parameters].map(([one, value]) => [
        one,
        Array.isArray(value) ? value.map(rawIfAddress) : rawIfAddress(value),
      ]),
    );
    for (const [one, value] of parameters) {
      if (Buffer.byteLength(parameterText(value)) > MAX_PARAMETER_BYTES) {
        throw new SqlRefusal(422, `params.${one}: longer than ${MAX_PARAMETER_BYTES} bytes`);
      }
    }
    const asked = { parameters, key, head: mcSeqno, timeoutMs: limits.timeoutMs, signal };
    const began = performance.now();
    const checked = await guard.check(sql, asked);
    const told = await reader.ask({ ...asked, sql: checked, format: format.name, limit: limit + 1 });
    const elapsedMs = performance.now() - began;
    metrics.read(told.rowsRead);
    return { ...format.body(told, { limit, mcSeqno, elapsedMs }), contentType: format.contentType, mcSeqno };
  }

  async function stepOf(asOf: number | null, signal: AbortSignal): Promise<number> {
    const { seqno } = head;
    if (seqno === 0) throw new SqlRefusal(503, 'there is no step yet: try again soon', { retryAfterSeconds: 1 });
    if (asOf !== null && asOf > seqno) throw new SqlRefusal(422, `as_of: the newest step is ${seqno}`);
    await head.reach(asOf ?? seqno, limits.timeoutMs, signal);
    return asOf ?? seqno;
  }

  return {
    async answer(question) {
      const began = performance.now();
      let outcome = 'ok';
      try {
        return await gate.run(() => run(question), question.signal);
      } catch (error) {
        const refused = refusalOf(error);
        outcome = outcomeOf(refused, question.signal);
        throw refused;
      } finally {
        metrics.finished(question.format, outcome, performance.now() - began);
      }
    },
  };
}

function outcomeOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'aborted';
  if (error instanceof SqlRefusal) return String(error.status);
  if (error instanceof HeadBehind) return '503';
  return error instanceof Overloaded ? '429' : 'failed';
}

function rowsOf(asked: number | null, most: number): number {
  if (asked === null || asked <= most) return asked ?? most;
  throw new SqlRefusal(422, `limit: at most ${most} rows in this format`);
}

/** The views have addresses in the raw form; people have them in the friendly one. */
function rawIfAddress<T extends string | number | boolean>(value: T): T | string {
  if (typeof value !== 'string') return value;
  const address = /^[A-Za-z0-9_+/-]{48}$/.test(value) ? parseAddress(value) : null;
  return address === null ? value : rawAddress(address);
}
