/** How much an archive takes in, over tables that have more than it has room for; what it reads of them is made up. */
import { tmpdir } from 'node:os';
import { expect, it, vi } from 'vitest';
import { silent } from '../../clickhouse/test-server.ts';
import type { Window } from '../window/window.ts';
import type { Archive } from './archive.ts';
import { createFilling } from './fill.ts';
import { type SlabStep, someSteps } from './slab.ts';
import { ARCHIVE_VERSION, type ArchiveState } from './state.ts';

const HEAD = 10_000;
const WINDOW_FIRST = 9_000;
/** Steps of one slab. */
const SLAB = 500;

vi.mock('../../clickhouse/tables-id.ts', () => ({ tablesId: async () => 'tables' }));
const tablesHash = vi.hoisted(() => ({ of: null as string | null }));
vi.mock('../../clickhouse/master-hash.ts', () => ({ masterHash: async () => tablesHash.of }));
vi.mock('./slab.ts', () => ({
  newestDone: async () => HEAD,
  newestWritten: async () => HEAD,
  endsBelow: async () => ({ lt: 1n, utime: 1 }),
  someSteps: vi.fn(async (_: unknown, { within: { high } }: { within: { high: number } }) => ({
    steps: { low: high - SLAB + 1, high },
    reachesEnd: false,
  })),
  readSlab: async (_: unknown, { low, high }: { low: number; high: number }) =>
    Array.from({ length: high - low + 1 }, (_, i) => ({
      mcSeqno: low + i,
      rows: [{ row: Buffer.alloc(100_000) }],
      told: [],
      maxLt: 1n,
      maxUtime: 1,
    })),
}));

it('comes to rest when it is full, with room for less than is read of the tables at once', async () => {
  let state: ArchiveState | null = null;
  const held = (): number => (state === null ? 0 : state.head - state.first + 1);
  const archive = {
    get state() {
      return state;
    },
    get bytes() {
      return held() * 100_000;
    },
    async begin(begun: object) {
      state = { ...begun, first: HEAD, origin: HEAD - 1, version: 1 } as unknown as ArchiveState;
      state = { ...state, first: state.head + 1 };
      return state;
    },
    async add(was: ArchiveState, _: readonly SlabStep[], span: object) {
      state = { ...was, ...span };
      return state;
    },
    async evict() {
      if (state !== null) state = { ...state, first: state.first + 64 };
    },
  } as unknown as Archive;
  const speaking = { speaks: true, first: WINDOW_FIRST, head: HEAD, globalId: 1, below: { lt: 1n, utime: 1 } };
  const window = { state: speaking } as unknown as Pick<Window, 'state'>;
  const clickhouse = { query: () => Promise.reject(new Error('nothing is asked')) };
  // Of room for the quarter of the window that it has as well, and some of what lies below that.
  const maxBytes = 300 * 100_000;
  const { work } = createFilling({ archive, folder: tmpdir(), maxBytes, window, clickhouse, logger: silent, rest: 0 });
  const { signal } = new AbortController();
  let works = 0;
  while (works < 100 && (await work(signal))) works++;
  expect(works).toBeLessThan(10);
  expect(vi.mocked(someSteps).mock.calls.length).toBe(1);
  expect(archive.bytes).toBeLessThanOrEqual(maxBytes);
});

it('is begun anew where its newest step is of another chain than that of the tables', async () => {
  const held: ArchiveState = {
    version: ARCHIVE_VERSION,
    tables: 'tables',
    globalId: 1,
    first: 8_001,
    head: 9_200,
    origin: 9_000,
    below: null,
  };
  const speaking = { speaks: true, first: WINDOW_FIRST, head: HEAD, globalId: 1, below: { lt: 1n, utime: 1 } };
  const window = { state: speaking } as unknown as Pick<Window, 'state'>;
  const clickhouse = { query: () => Promise.reject(new Error('nothing is asked')) };
  const begins = async (hash: string | null, masterHash: string | null): Promise<boolean> => {
    tablesHash.of = hash;
    const begin = vi.fn();
    const archive = { state: held, bytes: 1, masterHash: () => masterHash, begin } as unknown as Archive;
    const { work } = createFilling({ archive, folder: tmpdir(), maxBytes: 1e9, window, clickhouse, logger: silent });
    await work(new AbortController().signal);
    return begin.mock.calls.length > 0;
  };
  expect(await begins('aa', 'aa')).toBe(false);
  expect(await begins('bb', 'aa')).toBe(true);
  // Not every number is that of a step.
  expect(await begins(null, 'aa')).toBe(false);
  expect(await begins('aa', null)).toBe(false);
});
