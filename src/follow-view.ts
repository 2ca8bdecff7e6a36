import type { IngestProgress } from '../streams/ingest/follow.ts';
import { bar, duration, type ProgressOptions } from './progress.ts';

/** Shows how the log follows the chain: a line in place on a terminal, plain lines in a pipe. */
export interface FollowView {
  update(progress: IngestProgress): void;
  /** Removes the line. */
  end(): void;
}

export interface FollowViewOptions extends ProgressOptions {
  /** A few words on the servers, e.g. `5 of 8 servers`. */
  servers?: (() => string) | undefined;
  /** Unix milliseconds. */
  unixMs?: () => number;
}

const TERMINAL_MS = 100;
/** In a pipe: while behind, and at the head. */
const BEHIND_MS = 1_000;
const AT_HEAD_MS = 10_000;
/** Rates are means over so long. */
const RATE_MS = 5_000;
/** Steps behind the head that count as at the head: one may be on its way. */
const AT_HEAD_STEPS = 2;

interface Sample {
  atMs: number;
  steps: number;
  bytes: number;
}

export function createFollowView(options: FollowViewOptions): FollowView {
  const { out, servers, now = () => performance.now(), unixMs = Date.now } = options;
  const terminal = out.isTTY === true;
  const samples: Sample[] = [];
  let shownAt = Number.NEGATIVE_INFINITY;
  let shown = false;
  let wasBehind: boolean | null = null;

  return {
    update(progress) {
      const atMs = now();
      samples.push({ atMs, steps: progress.steps, bytes: progress.bytes });
      while (samples.length > 2 && samples[1].atMs < atMs - RATE_MS) samples.shift();
      const behind = behindOf(progress) > AT_HEAD_STEPS;
      const everyMs = terminal ? TERMINAL_MS : behind ? BEHIND_MS : AT_HEAD_MS;
      const arrived = wasBehind === true && !behind && atMs - shownAt >= BEHIND_MS;
      if (atMs - shownAt < everyMs && !arrived) return;
      shownAt = atMs;
      wasBehind = behind;
      const rate = rates(samples);
      const text = behind ? backfillText(progress, rate, terminal) : headText(progress, rate, unixMs());
      const line = servers === undefined ? text : `${text}  ${servers()}`;
      out.write(terminal ? `\r${line.slice(0, (out.columns ?? 80) - 1)}\x1b[K` : `${line}\n`);
      shown = true;
    },
    end() {
      if (terminal && shown) out.write('\r\x1b[K');
      shown = false;
    },
  };
}

function behindOf({ headSeqno, appendedSeqno, firstSeqno }: IngestProgress): number {
  return Math.max(0, headSeqno - (appendedSeqno ?? firstSeqno - 1));
}

function rates(samples: readonly Sample[]): { steps: number; bytes: number } {
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const seconds = (last.atMs - first.atMs) / 1000;
  if (seconds <= 0) return { steps: 0, bytes: 0 };
  return { steps: (last.steps - first.steps) / seconds, bytes: (last.bytes - first.bytes) / seconds };
}

function backfillText(progress: IngestProgress, rate: { steps: number; bytes: number }, terminal: boolean): string {
  const { headSeqno, appendedSeqno, firstSeqno } = progress;
  const behind = behindOf(progress);
  const whole = Math.max(1, headSeqno - firstSeqno + 1);
  const share = Math.min(1, Math.max(0, (whole - behind) / whole));
  const left = rate.steps > 0 ? duration(behind / rate.steps) : '-';
  const done = `${String(Math.floor(share * 100)).padStart(3)} %`;
  const worked = `${rate.steps.toFixed(0)} steps/s, ${(rate.bytes / 1e6).toFixed(1)} MB/s`;
  const place = `step ${appendedSeqno ?? '-'} of ${headSeqno}, ${behind} behind`;
  return `backfill${terminal ? ` ${bar(share)}` : ''} ${done}  ${place}  ${worked}  ${left} left`;
}

function headText(progress: IngestProgress, rate: { steps: number }, unixMs: number): string {
  const { headSeqno, appendedSeqno, genUtime } = progress;
  const lag = behindOf(progress);
  const age = genUtime === null ? '' : `  newest block ${duration(Math.max(0, unixMs / 1000 - genUtime))} old`;
  return `at the head  step ${appendedSeqno ?? '-'} of ${headSeqno}, lag ${lag}  ${rate.steps.toFixed(1)} steps/s${age}`;
}
