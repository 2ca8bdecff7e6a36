import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { requireShelf } from '../../test/shelf.ts';
import { storedRecords } from '../../test/stored-records.ts';
import type { TransactionRecord } from '../chain/records.ts';
import { openEngine } from '../window/engine.ts';
import type { TransactionForm } from '../window/form.ts';
import { encodeRow } from '../window/kind.ts';
import { transactionKind } from '../window/kinds.ts';
import { type Archive, archiveTables, openArchive } from './archive.ts';
import type { SlabStep } from './slab.ts';
import type { ArchiveState } from './state.ts';

const BLOCK = 'mainnet_0_c000000000000000_13516764';
const PER_STEP = 21;
const ORIGIN = 4;
const home = mkdtempSync(join(tmpdir(), 'tonstream-forms-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

const records = storedRecords(readFileSync(`${requireShelf()}/data/blocks/${BLOCK}.boc`)).map((make) => make());

const textOf = (version: string, { transaction, mcSeqno }: TransactionRecord): string =>
  `${version}: ${transaction.hash.toString('hex')} of step ${mcSeqno} `.repeat(9);

const formOf = (version: string): TransactionForm => ({
  version,
  dictionary: Buffer.from(`${version} of step`.padEnd(16)),
  of: (record) => Buffer.from(textOf(version, record)),
  ofAction: () => Buffer.alloc(0),
  messageIn: () => null,
});

function stepOf(mcSeqno: number): SlabStep {
  const rows = records.slice(mcSeqno * PER_STEP, (mcSeqno + 1) * PER_STEP).map(({ transaction, block, stored }) => {
    const { account, lt, now, hash } = transaction;
    const { states = Buffer.alloc(0), payload = Buffer.alloc(0) } = stored ?? {};
    const { shard, seqno } = block;
    const place = { shard, seqno, traceId: hash, externalHash: null, globalVersion: 0, statesBytes: states.length };
    const row = encodeRow(transactionKind, { account, lt, now, hash, ...place }, [states, payload]);
    return { kind: transactionKind, row };
  });
  return { mcSeqno, rows, told: [], minLt: 0n, maxLt: 2n ** 63n, minUtime: 0, maxUtime: 2 ** 31 };
}

/**
 * What the archive shows of the transactions of some steps, in an order that leaps from group to group, and from row to
 * row.
 */
function formsOf(archive: Archive, steps: readonly number[], isAmongOthers: boolean): (string | undefined)[] {
  const view = archive.view();
  const found = steps.flatMap((step) => view?.rowsOf(transactionKind, step) ?? []);
  const leaping = found.map((_, i) => found[(i * 8 + (i >> 3)) % found.length]);
  const all = [...leaping, ...found].map(({ id }) => view?.form(id, isAmongOthers)?.toString());
  view?.done();
  return all;
}

/** The same as they should be. */
function expected(steps: readonly number[], version: string): string[] {
  const found = steps.flatMap((step) =>
    records
      .slice(step * PER_STEP, (step + 1) * PER_STEP)
      .map((record) => textOf(version, { ...record, mcSeqno: step })),
  );
  const leaping = found.map((_, i) => found[(i * 8 + (i >> 3)) % found.length]);
  return [...leaping, ...found];
}

const below = { lt: 1n, utime: 1 };

async function filled(archive: Archive): Promise<ArchiveState> {
  const begun = await archive.begin({ tables: 'one', globalId: 1, head: ORIGIN, below });
  const down = await archive.add(begun, [stepOf(4), stepOf(3)], { first: 3, head: ORIGIN, below });
  return archive.add(down, [stepOf(5), stepOf(6)], { first: 3, head: 6, below });
}

function formTables(folder: string, version: string): number {
  const engine = openEngine(folder, archiveTables(formOf(version)), { lasting: true });
  const snapshot = engine.snapshot();
  const bytes = archiveTables(formOf(version))
    .filter(({ name }) => name.startsWith('forms'))
    .reduce((sum, { name }) => sum + snapshot.bytes(name), 0);
  snapshot.done();
  void engine.close();
  return bytes;
}

describe('forms of an archive', () => {
  it('are those of its transactions, filled downwards and behind the head, one by one and beside one another', async () => {
    const archive = openArchive(join(home, 'kept'), formOf('a'));
    await filled(archive);
    for (const isAmongOthers of [false, true]) {
      expect(formsOf(archive, [3, 4, 5, 6], isAmongOthers)).toEqual(expected([3, 4, 5, 6], 'a'));
    }
    await archive.close();
  });

  it('go with their steps', async () => {
    const folder = join(home, 'evicted');
    const archive = openArchive(folder, formOf('a'));
    await filled(archive);
    await archive.evict();
    await archive.close();
    expect(formTables(folder, 'a')).toBe(0);
  });

  it('are not read when they are of another version, and leave the disk', async () => {
    const folder = join(home, 'versions');
    const first = openArchive(folder, formOf('a'));
    const state = await filled(first);
    await first.close();
    const second = openArchive(folder, formOf('b'));
    expect(new Set(formsOf(second, [3, 4, 5, 6], false))).toEqual(new Set([undefined]));
    await second.add(state, [stepOf(2)], { first: 2, head: 6, below: null });
    expect(formsOf(second, [2], true)).toEqual(expected([2], 'b'));
    await second.close();
    expect(formTables(folder, 'a')).toBe(0);
    expect(formTables(folder, 'b')).toBeGreaterThan(0);
  });

  it('are not kept by one that is to keep none', async () => {
    const archive = openArchive(join(home, 'none'), null);
    await filled(archive);
    expect(new Set(formsOf(archive, [3, 4, 5, 6], false))).toEqual(new Set([undefined]));
    await archive.close();
  });
});

describe('an archive', () => {
  it('takes no steps that go on where another process has left it otherwise meanwhile', async () => {
    const folder = join(home, 'shared');
    const [one, other] = [openArchive(folder, null), openArchive(folder, null)];
    try {
      const begun = await one.begin({ tables: 'one', globalId: 1, head: ORIGIN, below });
      const down = await other.add(begun, [stepOf(4), stepOf(3)], { first: 3, head: ORIGIN, below });
      // The same steps again would be told to be the first ones, and be there twice.
      const again = one.add(begun, [stepOf(4)], { first: 4, head: ORIGIN, below });
      await expect(again).rejects.toThrow('another process writes the archive');
      await other.begin({ tables: 'two', globalId: 1, head: 6, below });
      // What is above these steps is not here any more.
      const older = one.add(down, [stepOf(2)], { first: 2, head: ORIGIN, below });
      await expect(older).rejects.toThrow('another process writes the archive');
      expect(one.state).toMatchObject({ tables: 'two', first: 7, head: 6 });
    } finally {
      await one.close();
      await other.close();
    }
  });
});
