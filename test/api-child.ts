/** A process that serves the API over a made-up chain, for benchmarks; tells its URL, then its CPU time when asked. */
import { serveApi } from './api-server.ts';
import { createFakeSource } from './fake-source.ts';
import { madeBlock } from './made-chain.ts';

const block = madeBlock({ mcSeqno: 7 });
const { source } = createFakeSource({ masterchainInfo: async () => ({ first: block, last: block }) });
const server = await serveApi(source, { version: () => '1', kept: { answers: 1024 * 1024, renderings: 0 } });
process.send?.(server.url);
process.on('message', () => process.send?.(process.cpuUsage()));
