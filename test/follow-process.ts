/**
 * An ingester in a process of its own, for tests that kill it. Arguments: log folder, recorded sequence, bytes of one
 * append, `refuse`, `stand-by`, or `stop`: that one stops itself (SIGSTOP) after its first append, outside any
 * transaction of the log, since nobody can open the log while a transaction stands still. Prints the offset after each
 * append and each line it logs; ends when the log has the whole sequence.
 */

import { readConfig } from '../src/config.ts';
import { openEmbeddedLog } from '../streams/embedded.ts';
import { ingest } from '../streams/ingest/follow.ts';
import { ingestOptions } from '../streams/ingest/options.ts';
import { LogError } from '../streams/log.ts';
import { topicNames } from '../streams/topics.ts';
import { recordedNode } from './recorded-node.ts';

const [folder, name, batchBytes, mode] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const node = recordedNode(name, { latencyMs: 1 });
const last = node.seqnos.at(-1);
const log = openEmbeddedLog({ folder });
const append = log.append.bind(log);
log.append = async (topic, records) => {
  const range = await append(topic, records);
  if (records.length > 0) say(`offset ${range.last}`);
  if (records.length > 0 && mode === 'stop') process.kill(process.pid, 'SIGSTOP');
  return range;
};
const stop = new AbortController();
const logger = {
  info: (first: unknown, second?: unknown) => say(String(second ?? first)),
  warn: (first: unknown, second?: unknown) => say(String(second ?? first)),
  error: (first: unknown, second?: unknown) => say(String(second ?? first)),
};
const onProgress = ({ appendedSeqno }: { appendedSeqno: number | null }): void => {
  if (appendedSeqno === last) stop.abort();
};
const options = {
  from: 'genesis',
  source: 'lite',
  standBy: mode === 'stand-by',
  batchBytes: Number(batchBytes),
  ...ingestOptions(readConfig(['--network', 'mainnet'], {}).config),
  cells: null,
} as const;
try {
  await ingest({ log, topics: topicNames(), node, options, logger, onProgress }, stop.signal);
} catch (error) {
  if (!(error instanceof LogError)) throw error;
  say(`${error.code}: ${error.message}`);
}
await log.close();
