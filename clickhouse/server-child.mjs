/**
 * The process that is the embedded ClickHouse server: it hands its main thread to the engine of the chdb package
 * and never gets it back. Arguments: path of the engine library, then the arguments of `clickhouse local`.
 *
 * `query_stable_v2` runs the LocalServer class, whose argument list is that of `clickhouse local` and which alone
 * can listen on HTTP; the documented `chdb_connect` family runs another class that cannot. The call needs an
 * ordinary thread stack, which the main thread has.
 */
import { Worker } from 'node:worker_threads';
import { DataType, load, open } from 'ffi-rs';

/**
 * The engine ends when stdin closes, which happens at the latest when the parent dies. Should its shutdown hang
 * after that, this thread (the only one of Node that still runs) ends the process.
 */
const ORPHAN_WATCH = `
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 20_000);
  }, 500);
`;

const [library, ...args] = process.argv.slice(2);
open({ library: 'chdb', path: library });

const orphanWatch = new Worker(ORPHAN_WATCH, { eval: true });
await new Promise((resolve, reject) => {
  orphanWatch.once('online', resolve);
  orphanWatch.once('error', reject);
});

load({
  library: 'chdb',
  funcName: 'query_stable_v2',
  retType: DataType.External,
  paramsType: [DataType.I32, DataType.StringArray],
  paramsValue: [args.length, args],
});
process.exit(0);
