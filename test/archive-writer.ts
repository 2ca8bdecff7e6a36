/**
 * A process that fills an archive from the tables of a server, again and again, until it is killed: `folder url database
 * state`, the last that of the window it is under, in JSON. Prints a line for each commit.
 */
import { createClickHouse } from '../clickhouse/client.ts';
import { silent } from '../clickhouse/test-server.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { openArchive } from '../src/archive/archive.ts';
import { createFilling } from '../src/archive/fill.ts';
import type { WindowState } from '../src/window/state.ts';

const [folder, url, database, state] = process.argv.slice(2);
const clickhouse = createClickHouse({ url, database, logger: silent });
const held: WindowState = { ...JSON.parse(state), below: { lt: 0n, utime: 0 } };
const archive = openArchive(folder, transactionForm);
const { signal } = new AbortController();
const { work } = createFilling({
  archive,
  folder,
  maxBytes: Number.POSITIVE_INFINITY,
  window: { state: held },
  clickhouse,
  logger: silent,
  onWritten: () => process.stdout.write('written\n'),
  slabTransactions: 5,
  rest: 0,
});
for (;;) {
  while (await work(signal));
  archive.clear();
}
