/**
 * `npm run bench:resume`: a subscriber who comes back, over the load of the benchmarks (BENCH_TRANSACTIONS), through a
 * service with one worker: events a second from the first step to `caught_up`, from the window and from the tables
 * (BENCH_WINDOWS: which of them), of BENCH_TYPES or of several sets of types.
 */
import { once } from 'node:events';
import WebSocket from 'ws';
import { startBenchService } from '../../test/bench-service.ts';
import { isProjected, openBench, print, projectLoad } from '../../test/bench-tables.ts';
import { type Held, useWindow } from '../../test/bench-windows.ts';
import { processUsage } from '../../test/process-usage.ts';

/** Of `caught_up`, at most. */
const LONGEST_END = 200;
/** The first is that of a back end that keeps all of the chain. */
const EVERY = [
  { types: ['transactions', 'account_state_change', 'message', 'block'] },
  { types: ['transactions'] },
  { types: ['account_state_change'] },
  { types: ['message'] },
  { types: ['jettons_change', 'jetton_transfer', 'nft_transfer'] },
  { types: ['actions'] },
];
const { BENCH_TYPES: ONLY } = process.env;
const SUBSCRIPTIONS = ONLY === undefined ? EVERY : [{ types: ONLY.split(',') }];
const WINDOWS = (process.env.BENCH_WINDOWS ?? 'all,nothing')
  .split(',')
  .flatMap((name): Held[] => (name === 'all' || name === 'half' || name === 'nothing' ? [name] : []));

const bench = await openBench(false);
try {
  if (!isProjected(bench.load)) {
    print('projecting the load first');
    await projectLoad(bench, () => undefined);
  }
  for (const held of WINDOWS) {
    await useWindow(bench, held);
    const service = await startBenchService(bench, { workers: 1, window: held !== 'nothing' });
    const cpuMs = (): number => service.cpuMs() + processUsage(bench.serverPid).cpuMs;
    try {
      for (const subscription of SUBSCRIPTIONS) {
        const [node, all] = [service.cpuMs(), cpuMs()];
        const { events, bytes, ms } = await resume(service.url, subscription);
        const each = (of: number): string => (events === 0 ? '-' : (of / events).toFixed(1));
        print(
          `resume ${subscription.types.join(', ')}, window with ${held}: ${events} events, ` +
            `${Math.round((events / ms) * 1000)} events/s, ${each(bytes)} bytes each; CPU of an event, µs: ` +
            `${each((service.cpuMs() - node) * 1000)} of the service, ${each((cpuMs() - all) * 1000)} with ClickHouse`,
        );
      }
    } finally {
      await service.stop();
    }
  }
} finally {
  await bench.close();
}

/** All that there is under a subscription; milliseconds it took. */
async function resume(url: string, subscription: object): Promise<{ events: number; bytes: number; ms: number }> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/api/streaming/v2/ws`, { perMessageDeflate: false });
  await once(socket, 'open');
  const began = performance.now();
  let [events, bytes] = [0, 0];
  await new Promise<void>((resolve, reject) => {
    socket.on('message', (data: Buffer) => {
      if (data.length < LONGEST_END && data.includes('"caught_up"')) return resolve();
      events++;
      bytes += data.length;
    });
    socket.once('close', (code) => reject(new Error(`closed with ${code} after ${events} events`)));
    socket.send(JSON.stringify({ operation: 'subscribe', everything: true, from_mc_seqno: 0, ...subscription }));
  });
  const ms = performance.now() - began;
  socket.removeAllListeners('close');
  socket.terminate();
  // One was the answer.
  return { events: events - 1, bytes, ms };
}
