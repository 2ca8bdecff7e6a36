import { DecodeError, ProofError } from '../chain/errors.ts';
import { AdnlError } from './adnl.ts';
import { LITE_ERROR, LiteServerError } from './lite-api.ts';
import { LiteTimeoutError } from './lite-connection.ts';
import { TlError } from './tl.ts';

/** What a server can do wrong. */
export const faultKinds = [
  /** Not reached, or no handshake. */
  'connect',
  /** The connection broke. */
  'reset',
  /** Silent or too slow. */
  'timeout',
  /** Bytes that are not what the protocol says. */
  'garbage',
  /** Answers that nobody asked for. */
  'flood',
  /** Well-formed and wrong: another hash, another network, another account. */
  'lie',
  /** Far behind the other servers. */
  'stale',
  /** Says that it has too much to do. */
  'busy',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** A well-formed answer that contradicts what was asked or what is proven. */
export class LieError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'LieError';
  }
}

/** What follows from a failed attempt. A `fault` counts against the server, the others do not. */
export type Verdict = { kind: 'not_found' } | { kind: 'refused' } | { kind: 'fault'; fault: FaultKind };

/** Servers say in many words that they do not have something (any more, or yet). */
const ABSENT =
  /not in db|not found|not ready|not applied|gc'?d|too old|cannot (load|find)|unknown block|no such block/i;

/** Codes of overload: of liteserver proxies (228, 429, 502) and of the node itself. */
const BUSY = new Set<number>([228, 429, 502, LITE_ERROR.timeout, LITE_ERROR.cancelled]);

/** Sorts the outcome of an attempt. Errors of this program itself come out as `null`. */
export function judge(error: unknown): Verdict | null {
  if (error instanceof LiteServerError) return judgeAnswer(error);
  const fault = faultOf(error);
  return fault === null ? null : { kind: 'fault', fault };
}

function judgeAnswer({ code, message }: LiteServerError): Verdict {
  if (code === LITE_ERROR.notReady) return { kind: 'not_found' };
  if (BUSY.has(code)) return { kind: 'fault', fault: 'busy' };
  return ABSENT.test(message) ? { kind: 'not_found' } : { kind: 'refused' };
}

function faultOf(error: unknown): FaultKind | null {
  if (error instanceof LieError || error instanceof ProofError) return 'lie';
  if (error instanceof LiteTimeoutError) return 'timeout';
  if (error instanceof TlError || error instanceof DecodeError) return 'garbage';
  if (!(error instanceof AdnlError)) return null;
  if (error.code === 'connect') return 'connect';
  if (error.code === 'protocol') return 'garbage';
  if (error.code === 'flood') return 'flood';
  return error.code === 'handshake' || error.code === 'silent' ? 'timeout' : 'reset';
}
