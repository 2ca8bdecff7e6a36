/** For tests: a process that runs a server on the folder given as argument until it is killed. */
import { startEmbeddedClickHouse } from './server.ts';
import { testServerOptions } from './test-server.ts';

const server = await startEmbeddedClickHouse(testServerOptions(process.argv[2]));
process.stdout.write(`${JSON.stringify({ pid: server.pid, url: server.url })}\n`);
