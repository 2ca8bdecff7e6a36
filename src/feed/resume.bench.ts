/**
 * `npm run bench:resume`: a subscriber who comes back, over the load of the benchmarks (BENCH_TRANSACTIONS), through a
 * service with one worker: events a second from the first step to `caught_up`, from the window and from the tables.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import WebSocket from 'ws';
import { startBenchService } from '../../test/bench-service.ts';
import { openBench, print } from '../../test/bench-tables.ts';
import { useWindow } from '../../test/bench-windows.ts';

const SUBSCRIPTIONS = [
  { types: ['transactions'] },
  { types: ['transactions', 'account_state_change'] },
  { types: ['message'] },
  { types: ['actions', 'jettons_change', 'jetton_transfer'] },
];

// Projected anew with the window: what was published once is not published again.
const bench = await openBench(true);
rmSync(join(bench.load.folder, 'window-all.json'), { force: true });
try {
  for (const held of ['all', 'nothing'] as const) {
    await useWindow(bench, held);
    const service = await startBenchService(bench, { workers: 1, window: held === 'all' });
    try {
      for (const subscription of SUBSCRIPTIONS) {
        const cpu = service.cpuMs();
        const { events, bytes, ms } = await resume(service.url, subscription);
        print(
          `resume ${subscription.types.join(', ')} ${held === 'all' ? 'from the window' : 'from the tables'}: ` +
            `${events} events, ${Math.round((events / ms) * 1000)} events/s, ${Math.round(bytes / events)} bytes each, ` +
            `${Math.round(((service.cpuMs() - cpu) / events) * 1000)} µs CPU of the service an event`,
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
      if (data.includes('"caught_up"')) return resolve();
      events++;
      bytes += data.length;
    });
    socket.once('close', (code) => reject(new Error(`closed with ${code} after ${events} events`)));
    socket.send(JSON.stringify({ operation: 'subscribe', everything: true, from_mc_seqno: 1, ...subscription }));
  });
  const ms = performance.now() - began;
  socket.removeAllListeners('close');
  socket.terminate();
  return { events, bytes, ms };
}
