import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { silent } from '../../clickhouse/test-server.ts';
import { isLong } from '../../test/chance.ts';
import { cloneTables } from '../../test/cloned-tables.ts';
import { cutSequence } from '../../test/cut-sequence.ts';
import { privateBlocks, shelf } from '../../test/shelf.ts';
import { bytesWithoutKnown, type Projected, projectAll, projectFiles, stepsOf, topics } from '../../test/windowed.ts';

/** Migrated once: a copy of empty tables takes half the time. */
const EMPTY = 'migrated';

class Killed extends Error {}

/** Tables that end the projector behind the nth insert into one of them. */
function dying(clickhouse: ClickHouse, table: string, nth: number): ClickHouse {
  let inserts = 0;
  return {
    ...clickhouse,
    async insert(name, ...rest) {
      await clickhouse.insert(name, ...rest);
      if (name === table && ++inserts === nth) throw new Killed();
    },
  };
}

/** Behind which the usual run knows no more: four batches, of which the third dies. */
const USUAL_MC_SEQNO = 81;

describe.skipIf(shelf === null)('steps published by a projector that dies', () => {
  let projected: Projected;

  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-published-'));
    try {
      const [first] = cutSequence(privateBlocks(), USUAL_MC_SEQNO, folder);
      projected = await projectFiles([isLong ? privateBlocks() : first]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    const empty = createClickHouse({ url: projected.url, database: EMPTY, logger: silent });
    await migrate({ clickhouse: empty, logger: silent });
    await empty.close();
  });
  afterAll(() => projected?.remove());

  // In the middle of the rows, at the announcement of a batch, and when it is marked done.
  it.each([
    ['transactions', 3],
    ['projection_state', 5],
    ...(isLong ? ([['projection_state', 6]] satisfies [string, number][]) : []),
  ] satisfies [string, number][])('at insert into %s, number %i, are the same, each once', async (table, nth) => {
    const { log, steps, url } = projected;
    // Of other tables: they are not taken for these.
    const former = await log.end(topics.steps);
    const database = `dying_${table}_${nth}`;
    const clickhouse = createClickHouse({ url, database, logger: silent });
    await cloneTables(clickhouse, EMPTY);
    await expect(projectAll(log, dying(clickhouse, table, nth))).rejects.toThrow(Killed);
    await projectAll(log, clickhouse);
    const again = await stepsOf(log);
    expect(again[0].firstOffset).toBe(former);
    expect(again.map(({ step }) => step.mcSeqno)).toEqual(steps.map(({ step }) => step.mcSeqno));
    // Data and codes that the tables had before are not in a repeated batch.
    expect(again.map(bytesWithoutKnown)).toEqual(steps.map(bytesWithoutKnown));
    await clickhouse.close();
  });
});
