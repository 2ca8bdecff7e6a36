import type { Writable } from 'node:stream';

/** Where a long work stands; everything starts at 0 with each label. */
export interface ProgressState {
  /** What is being done, e.g. `checking`. */
  label: string;
  /** Share done and time left come of these two, in any unit. */
  done: number;
  total: number;
  /** What was worked through, shown as rates; the first also as it is. */
  counts: readonly ProgressCount[];
}

export interface ProgressCount {
  /** Unit, e.g. `blocks` or `MB`. */
  unit: string;
  value: number;
  /** Digits behind the point. */
  digits?: number;
}

export interface Progress {
  update(state: ProgressState): void;
  /** Ends the line, or removes the bar. */
  end(): void;
}

/** Told by one who works through something, of which nothing else is counted. */
export type TellProgress = (label: string, unit: string, done: number, total: number) => void;

export interface ProgressOptions {
  /** A terminal gets a bar in place, anything else a line at most once a second and at least every ten. */
  out: Writable & { isTTY?: boolean | undefined; columns?: number | undefined };
  now?: () => number;
}

const BAR_MS = 100;
const LINE_MS = 1_000;
/** Without news, what is being done is told again: one statement may take minutes. */
const QUIET_MS = 10_000;
const BAR_CELLS = 24;

/** Shows progress with rates and the time left. Rates are means over the phase (the time since `label` changed). */
export function createProgress({ out, now = () => performance.now() }: ProgressOptions): Progress {
  const terminal = out.isTTY === true;
  let latest: ProgressState | null = null;
  let startedAt = 0;
  let shownAt = Number.NEGATIVE_INFINITY;
  let repeating: NodeJS.Timeout | undefined;

  function show(state: ProgressState, time: number): void {
    shownAt = time;
    const text = progressText(state, (time - startedAt) / 1000, terminal);
    out.write(terminal ? `\r${text.slice(0, (out.columns ?? 80) - 1)}\x1b[K` : `${text}\n`);
  }

  function repeat(): void {
    const time = now();
    if (latest !== null && time - shownAt >= QUIET_MS) show(latest, time);
  }

  return {
    update(state) {
      const time = now();
      if (state.label !== latest?.label) {
        startedAt = time;
        shownAt = terminal ? Number.NEGATIVE_INFINITY : time;
      }
      latest = state;
      repeating ??= setInterval(repeat, LINE_MS).unref();
      if (time - shownAt >= (terminal ? BAR_MS : LINE_MS)) show(state, time);
    },
    end() {
      clearInterval(repeating);
      repeating = undefined;
      if (terminal && latest !== null) out.write('\r\x1b[K');
      latest = null;
    },
  };
}

function progressText({ label, done, total, counts }: ProgressState, seconds: number, terminal: boolean): string {
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const rate = seconds > 0 ? done / seconds : 0;
  // What is worked on may have grown since its total was asked.
  const left = rate > 0 ? duration(Math.max(0, total - done) / rate) : '-';
  const percent = `${String(Math.floor(share * 100)).padStart(3)} %`;
  const text = (value: number, { unit, digits = 0 }: ProgressCount) => `${value.toFixed(digits)} ${unit}`;
  const worked = counts.slice(0, 1).map((count) => text(count.value, count));
  const rates = counts.map((count) => `${text(seconds > 0 ? count.value / seconds : 0, count)}/s`);
  return `${label}${terminal ? ` ${bar(share)}` : ''} ${percent}  ${[...worked, rates.join(', ')].join('  ')}  ${left} left`;
}

/** `[######------------------]` for a share from 0 to 1. */
export function bar(share: number): string {
  const filled = Math.round(share * BAR_CELLS);
  return `[${'#'.repeat(filled)}${'-'.repeat(BAR_CELLS - filled)}]`;
}

/** Megabytes (10^6) with one digit behind the point. */
export function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

/** `1.4 s`, `3 min 20 s`, `2 h 5 min`. */
export function duration(seconds: number): string {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
