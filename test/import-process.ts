/**
 * An import in a process of its own, for tests that kill it. Arguments: log folder, bytes of one append, files.
 * Prints a line after each append.
 */
import { openEmbeddedLog } from '../streams/embedded.ts';
import { importFiles } from '../streams/ingest/import.ts';
import { topicNames } from '../streams/topics.ts';

const [folder, batchBytes, ...files] = process.argv.slice(2);
const log = openEmbeddedLog({ folder });
const append = log.append.bind(log);
log.append = async (topic, records) => {
  const range = await append(topic, records);
  process.stdout.write(`${range.last}\n`);
  return range;
};
await importFiles(log, topicNames(), files, { batchBytes: Number(batchBytes) });
await log.close();
