/** Whether the feed tells what happens now, as streaming v2 says it. */
import type { Head } from '../../clickhouse/queries/head.ts';
import type { StepReader } from './steps.ts';

export interface HealthOptions {
  steps: Pick<StepReader, 'read'>;
  head: Pick<Head, 'seqno'>;
  /** Milliseconds that the newest step is waited for. */
  timeoutMs?: number;
}

/**
 * The parts of the service that the protocol names. All three stand and fall with the steps here: a step is shown with
 * its actions, and the time of what is pending runs by the clock of the steps.
 */
const COMPONENTS = ['ton-trace-emulator', 'event-classifier', 'ton-trace-ttl-tracker'];
const TIMEOUT_MS = 2_000;
/** Above it the service does not call itself healthy. */
const OLD_SECONDS = 15;

interface Component {
  ok: boolean;
  error?: string;
  last_finalized_mc_block_time?: number;
  finalized_age_seconds?: number;
}

export async function healthOf({ steps, head, timeoutMs = TIMEOUT_MS }: HealthOptions) {
  const now = Math.floor(Date.now() / 1000);
  const component = await newestStep().catch(
    (error: unknown): Component => ({
      ok: false,
      error: `the newest step cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    }),
  );

  async function newestStep(): Promise<Component> {
    if (head.seqno === 0) return { ok: false, error: 'there is no step yet' };
    const { utime } = await inTime(steps.read(head.seqno, AbortSignal.timeout(timeoutMs)), timeoutMs);
    const age = now - utime;
    const ok = age <= OLD_SECONDS;
    const error = ok ? {} : { error: `the newest step is ${age} s old` };
    return { ok, ...error, last_finalized_mc_block_time: utime, finalized_age_seconds: age };
  }

  return { ok: component.ok, now, components: Object.fromEntries(COMPONENTS.map((name) => [name, component])) };
}

/** Another who waits longer may have asked for the same step: then it does not end with the signal of this one. */
async function inTime<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not come within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
