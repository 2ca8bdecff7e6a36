import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { bytes } from '../../clickhouse/literal.ts';
import { MIGRATED, startMigratedServer } from '../../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../../clickhouse/test-server.ts';
import { MAX_TRANSACTIONS } from '../../src/chain/actions/classify.ts';
import { hashKey } from '../../src/chain/hash.ts';
import { createOpenTraces, packPlace } from './open-traces.ts';
import { type Batch, createPositionStore, type Intent } from './position.ts';

const { signal } = new AbortController();
const hash = (byte: number): Buffer => Buffer.alloc(32, byte);
const counts = { blocks: 1, transactions: 2, messages: 3 };
let server: TestServer;
let clickhouse: ClickHouse;

beforeAll(async () => {
  server = await startMigratedServer();
  clickhouse = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
});
beforeEach(async () => {
  for (const table of ['projection_state', 'projectors']) await clickhouse.command(`TRUNCATE TABLE ${table}`);
});
afterAll(async () => {
  await clickhouse.close();
  await server.remove();
});

const batch = (number: number, end = number * 10): Batch => ({
  number,
  firstOffset: number * 10 - 10,
  nextOffset: end,
  nextCell: number * 3,
  firstMcSeqno: number,
  mcSeqno: number,
  rootHash: Buffer.alloc(32, number),
  globalId: -239,
});

const bounded = ({ number, firstOffset, ...rest }: Batch): Intent => ({
  number,
  firstOffset,
  batch: { number, firstOffset, ...rest },
  isWritten: false,
});
/** The step behind a batch, announced before it is there. */
const behind = ({ number, nextOffset }: Batch): Intent => ({
  number: number + 1,
  firstOffset: nextOffset,
  batch: null,
  isWritten: false,
});

async function projector() {
  const store = createPositionStore(clickhouse);
  await store.claim(signal);
  return store;
}

describe('createPositionStore', () => {
  it('knows nothing of empty tables', async () => {
    expect(await (await projector()).read(signal)).toEqual({ done: null, intent: null });
  });

  it('finds the last batch that is done, the step awaited after it, and the batch begun, however often', async () => {
    const first = await projector();
    await first.announce(batch(1), signal);
    expect(await first.read(signal)).toEqual({ done: null, intent: bounded(batch(1)) });
    await first.finish(batch(1), counts, signal);
    expect(await first.read(signal)).toEqual({ done: batch(1), intent: behind(batch(1)) });
    for (let crash = 0; crash < 5; crash++) await (await projector()).announce(batch(2), signal);
    expect(await createPositionStore(clickhouse).read(signal)).toEqual({ done: batch(1), intent: bounded(batch(2)) });
  });

  it('knows how far the batch that was begun has come, also when it is begun again', async () => {
    const one = await projector();
    await one.announce(batch(1), signal);
    await one.announce(batch(1), signal, true);
    const written = { ...bounded(batch(1)), isWritten: true };
    expect((await one.read(signal)).intent).toEqual(written);
    const other = await projector();
    expect((await other.read(signal)).intent).toEqual(written);
    await other.announce(batch(1), signal, true);
    expect((await (await projector()).read(signal)).intent).toEqual(written);
    await other.finish(batch(1), counts, signal);
    expect(await other.read(signal)).toEqual({ done: batch(1), intent: behind(batch(1)) });
  });

  it('repeats the batch of several steps that was announced for the step awaited, by whoever announced that', async () => {
    const one = await projector();
    await one.finish(batch(1), counts, signal);
    await one.announce(batch(2, 70), signal);
    expect((await one.read(signal)).intent).toEqual(bounded(batch(2, 70)));
    const other = await projector();
    expect((await other.read(signal)).intent).toEqual(bounded(batch(2, 70)));
    await other.finish(batch(2, 70), counts, signal);
    expect(await other.read(signal)).toEqual({ done: batch(2, 70), intent: behind(batch(2, 70)) });
  });

  it('stops a projector when a later one has begun', async () => {
    const elder = await projector();
    await elder.checkOwner(signal);
    const younger = await projector();
    await expect(elder.checkOwner(signal)).rejects.toThrow(
      `another projector, started later, writes to database ${MIGRATED}`,
    );
    await younger.checkOwner(signal);
  });

  it('repeats what the newest projector announced, not what one announced that was stopped', async () => {
    const elder = await projector();
    const younger = await projector();
    await younger.announce(batch(1, 7), signal);
    await elder.announce(batch(1, 9), signal);
    expect((await (await projector()).read(signal)).intent).toEqual(bounded(batch(1, 7)));
    await younger.finish(batch(1, 7), counts, signal);
    expect(await (await projector()).read(signal)).toEqual({ done: batch(1, 7), intent: behind(batch(1, 7)) });
  });

  it('repeats what the one that writes announced also when another one began at the same time', async () => {
    for (let round = 0; round < 4; round++) {
      await clickhouse.command('TRUNCATE TABLE projection_state');
      await clickhouse.command('TRUNCATE TABLE projectors');
      const [one, other] = [createPositionStore(clickhouse), createPositionStore(clickhouse)];
      // Neither has seen the other when they take their number.
      await clickhouse.command(
        `INSERT INTO projectors (epoch, instance) VALUES (1, '${one.instance}'), (1, '${other.instance}')`,
      );
      const isOwner = await one.checkOwner(signal).then(
        () => true,
        () => false,
      );
      const [writing, stopped] = isOwner ? [one, other] : [other, one];
      await stopped.announce(batch(1, 9), signal);
      await writing.announce(batch(1, 7), signal);
      expect((await (await projector()).read(signal)).intent).toEqual(bounded(batch(1, 7)));
    }
  });

  it('lets one of many that begin at once write', async () => {
    const stores = Array.from({ length: 5 }, () => createPositionStore(clickhouse));
    await Promise.allSettled(stores.map((store) => store.claim(signal)));
    const owners = await Promise.allSettled(stores.map((store) => store.checkOwner(signal)));
    expect(owners.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });
});

describe('createOpenTraces', () => {
  it('finds an open trace of an earlier run, one that is too large to be told by the first places of its accounts', async () => {
    const [small, large] = [hash(41), hash(42)];
    const accounts = [2, 1].map((byte) => Buffer.alloc(36, byte));
    const places = (step: number): Buffer[] =>
      accounts.map((account, i) => Buffer.from(packPlace(account, String(10 * step + i)), 'latin1'));
    const grow = (id: Buffer, most: number, step: number, own: readonly Buffer[]): Promise<void> =>
      clickhouse.command(`INSERT INTO traces (trace_id, mc_seqno, end_lt, transactions, state, places) VALUES
        (${bytes(id)}, ${step}, ${10 * step}, ${most}, 'pending', ${bytes(Buffer.concat(own))})`);
    for (const step of [1, 2, 3, 3, 4]) {
      await grow(small, 2 * step, step, places(step));
      // The second account comes with the second step.
      await grow(large, MAX_TRANSACTIONS + step, step, step === 1 ? places(1).slice(0, 1) : places(step));
    }
    const open = createOpenTraces(clickhouse, () => undefined);
    const found = await open.find([small, large, hash(43)], { number: 1, firstMcSeqno: 4 }, signal);
    const held = [small, large].map((id) => {
      const trace = found.get(hashKey(id));
      return [trace?.transactions, trace?.endLt, trace && Buffer.from(trace.places, 'latin1')];
    });
    expect(held).toEqual([
      [6, '30', Buffer.concat([1, 2, 3].flatMap(places))],
      [MAX_TRANSACTIONS + 3, '30', Buffer.concat([places(1)[0], places(2)[1]])],
    ]);
    expect(found.size).toBe(2);
  });
});
