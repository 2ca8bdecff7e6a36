/** Time over which a rate is taken, in milliseconds: long enough to be calm, short enough to be of now. */
const SPAN_MS = 10_000;

/**
 * Tells how fast a count grows. Given a time in milliseconds and the count at that time, gives the growth a second over
 * the last ten seconds; null at first. A count that shrinks (tables made anew, doubles merged) begins again.
 */
export function createRate(): (now: number, count: number) => number | null {
  let samples: { now: number; count: number }[] = [];
  return (now, count) => {
    const last = samples.at(-1);
    if (last !== undefined && (count < last.count || now <= last.now)) samples = [];
    samples.push({ now, count });
    // One sample from before the span stays, so that the span is always covered.
    while (samples.length > 2 && samples[1].now <= now - SPAN_MS) samples.shift();
    const first = samples[0];
    return now > first.now ? ((count - first.count) * 1000) / (now - first.now) : null;
  };
}
