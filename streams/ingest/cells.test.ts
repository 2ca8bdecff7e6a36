import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountStatesAfter, openAccounts, readAccount } from '../../src/chain/accounts.ts';
import { addressOf, rawAddress } from '../../src/chain/address.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { openBoc } from '../../src/chain/boc.ts';
import { canonicalBoc } from '../../src/chain/canonical.ts';
import { hashOfExtra } from '../../src/chain/currency.ts';
import { cellHash } from '../../src/chain/hash.ts';
import type { AccountState } from '../../src/chain/model.ts';
import { serialize } from '../../src/chain/serialize.ts';
import { readConfig } from '../../src/config.ts';
import { extraAccount } from '../../test/extra-account.ts';
import { blockFile } from '../../test/recorded-blocks.ts';
import { createRecordedNode, type RecordedNodeOptions } from '../../test/recorded-node.ts';
import { readSequence, sequenceFile } from '../../test/recorded-sequence.ts';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { decodeCellRecord, encodeCellRecord, type StoredCell } from '../cell-record.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { EnvelopeError } from '../envelope.ts';
import type { EventLog } from '../log.ts';
import { topicNames } from '../topics.ts';
import { askAccount, askLibraries, libraryOf } from './cell-answers.ts';
import { type CellEvent, type CellLimits, type Cells, createCells } from './cells.ts';
import { checkBlockAndTops } from './check.ts';
import { createStepWriter, type StepWriter } from './follow-append.ts';
import type { FetchedStep } from './follow-steps.ts';
import { ingestOptions } from './options.ts';

const topics = topicNames();
const LAST = 2690;
let folder: string;
let log: EventLog;
let stop: AbortController;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tonstream-cells-'));
  log = openEmbeddedLog({ folder });
  stop = new AbortController();
  await log.ensureTopic(topics.cells);
});

afterEach(async () => {
  stop.abort();
  await log.close();
  rmSync(folder, { recursive: true });
});

/** A masterchain block of the recording as a step of its own. */
function step(seqno: number): FetchedStep {
  const line = readSequence(sequenceFile('mainnet-mc-2660')).find((one) => one.seqno === seqno);
  if (line === undefined) throw new Error(`no block ${seqno}`);
  return stepOf(seqno, Buffer.from(line.boc, 'base64'));
}

function stepOf(seqno: number, boc: Buffer): FetchedStep {
  const { block, tops } = checkBlockAndTops(boc, null, { file: 'recorded', line: null });
  const master = { ...block, tops, boc, receivedAtMs: 1 };
  return { mcSeqno: seqno, blocks: [master], master, bytes: boc.length, seenAtMs: null };
}

function statesOf({ master }: FetchedStep): AccountState[] {
  return accountStatesAfter(decodeBlock(openBoc(master.boc)));
}

/** Answers from the recorded full state after block 2690. */
function fromFullState(): NonNullable<RecordedNodeOptions['account']> {
  const file = join(requireShelf(), 'data', 'blocks', 'states', 'mainnet_-1_8000000000000000_2690.state.boc.gz');
  const boc = openBoc(gunzipSync(readFileSync(file)));
  const find = openAccounts(boc, boc.roots[0]);
  return (block, workchain, account) => {
    const leaf = block.seqno === LAST ? find(addressOf(workchain, account)) : null;
    if (leaf === null) return null;
    leaf.skip(5);
    const { extra } = skipBalance(leaf);
    return { boc: serialize(boc, extra), lastTransactionHash: leaf.hash(), lastTransactionLt: leaf.dec(64) };
  };
}

/** Behind the extra of the dictionary (`DepthBalanceInfo`): the account's cell is the next reference. */
function skipBalance(leaf: NonNullable<ReturnType<ReturnType<typeof openAccounts>>>): { extra: number } {
  leaf.grams();
  leaf.maybeRef();
  return { extra: leaf.nextRef() };
}

function open(
  options: RecordedNodeOptions,
  limits: Partial<CellLimits> = {},
): { cells: Cells; counts: Map<CellEvent, number>; writer: StepWriter } {
  const counts = new Map<CellEvent, number>();
  const lines = readSequence(sequenceFile('mainnet-mc-2660'));
  const writer = createStepWriter({
    log,
    topic: topics.blocks,
    nextOffset: 17,
    tail: [],
    zeroState: Buffer.alloc(32),
    source: 'lite',
    batchBytes: 1_000_000,
  });
  const cells = createCells({
    node: createRecordedNode(lines, options),
    log,
    topic: topics.cells,
    writer,
    patience: { pause: async () => undefined },
    limits: { ...ingestOptions(readConfig([], {}).config).cells, ...limits },
    logger: { warn: () => undefined },
    onEvent: (event) => counts.set(event, (counts.get(event) ?? 0) + 1),
    onError: (error) => {
      throw error;
    },
    signal: stop.signal,
  });
  return { cells, counts, writer };
}

async function answers(): Promise<StoredCell[]> {
  return (await log.last(topics.cells, 100)).map((record) => decodeCellRecord(record, topics.cells));
}

describe.skipIf(shelf === null)('cells that a block does not show', () => {
  it('are asked for once an account and written under their hashes', async () => {
    const last = step(LAST);
    const states = statesOf(last);
    const { cells, counts } = open({ account: fromFullState() });
    await cells.look([last], LAST);
    await cells.idle();
    const found = await answers();
    const data = found.filter(({ kind }) => kind === 'data');
    const pruned = states.filter(({ dataHash, dataComplete }) => dataHash !== null && !dataComplete);
    const unknownCodes = states.filter(({ codeHash, codeComplete }) => codeHash !== null && !codeComplete);
    const codes = new Set(unknownCodes.map(({ codeHash }) => codeHash?.toString('hex')));
    expect(pruned.length).toBeGreaterThan(0);
    expect(codes.size).toBeGreaterThan(0);
    // What the block says of each account is what the answer holds.
    const facts = (account: Buffer | null, hash: Buffer | null, lt: string | null): string =>
      `${account?.toString('hex')} ${hash?.toString('hex')} ${lt}`;
    expect(data.map(({ account, hash, lt }) => facts(account, hash, lt)).sort()).toEqual(
      pruned.map((state) => facts(state.account, state.dataHash, state.lastTransactionLt)).sort(),
    );
    expect(new Set(found.filter(({ kind }) => kind === 'code').map(({ hash }) => hash.toString('hex')))).toEqual(codes);
    expect(found.every(({ after, mcSeqno, globalId }) => after === 17 && mcSeqno === LAST && globalId === -239)).toBe(
      true,
    );
    expect(found.every(({ boc }) => canonicalBoc(boc).equals(boc))).toBe(true);
    const extras = states.filter(({ extraPruned }) => extraPruned !== null);
    expect(extras.length).toBeGreaterThan(0);
    const whole = found.filter(({ kind }) => kind === 'account');
    expect(whole.map(({ account, hash, lt }) => facts(account, hash, lt)).sort()).toEqual(
      extras.map(({ account, hash, lastTransactionLt }) => facts(account, hash, lastTransactionLt)).sort(),
    );
    for (const { account, boc } of whole) {
      const bag = openBoc(boc);
      const state = extras.find((one) => account?.equals(one.account));
      expect(hashOfExtra(readAccount(bag, bag.roots[0])?.balance.extra ?? {})).toEqual(state?.extraPruned);
    }
    expect(counts.get('asked')).toBe(new Set([...pruned, ...unknownCodes, ...extras]).size);
    const asked = counts.get('asked') ?? 0;
    await cells.look([last], LAST);
    await cells.idle();
    // Of extra currencies see below.
    expect(counts.get('asked')).toBe(asked + extras.length);
  });

  it('are not asked for again after a restart, but for extra currencies', async () => {
    const first = open({ account: fromFullState() });
    await first.writer.append([step(LAST)]);
    await first.cells.look([step(LAST)], LAST);
    await first.cells.idle();
    const second = open({ account: fromFullState() });
    await second.cells.recall();
    await second.cells.look([step(LAST)], LAST);
    await second.cells.idle();
    const extras = statesOf(step(LAST)).filter(({ extraPruned }) => extraPruned !== null);
    expect([...second.counts]).toEqual([
      ['asked', extras.length],
      ['answered', extras.length],
    ]);
  });

  it('are asked for again when a step was written before the answer and looked into after it', async () => {
    const { cells, counts, writer } = open({ account: fromFullState() });
    await writer.append([step(LAST)]);
    await cells.look([step(LAST)], LAST);
    await cells.idle();
    // The answers stand in the log behind this step: one that is in the log and not looked into yet has outrun them.
    const asked = counts.get('asked') ?? 0;
    await cells.look([step(LAST)], LAST);
    await cells.idle();
    expect(counts.get('asked')).toBeGreaterThan(asked);
    const answered = counts.get('asked');
    const next = step(LAST);
    await cells.look([{ ...next, mcSeqno: LAST + 1 }], LAST + 1);
    await cells.idle();
    expect(counts.get('asked')).toBe(answered);
  });

  it('that no server has, or that have another hash, are counted and asked for at the next use', async () => {
    const { cells, counts } = open({});
    await cells.look([step(2689)], LAST);
    await cells.idle();
    const missing = counts.get('failed') ?? 0;
    expect(missing).toBeGreaterThan(0);
    expect(await answers()).toEqual([]);
    await cells.look([step(2689)], LAST);
    await cells.idle();
    expect(counts.get('failed')).toBe(2 * missing);
    // The state after block 2690 is not the one after 2689.
    const honest = fromFullState();
    const lying = open({ account: (block, ...rest) => honest({ ...block, seqno: LAST }, ...rest) });
    await lying.cells.look([step(2689)], LAST);
    await lying.cells.idle();
    expect(lying.counts.get('failed')).toBe(missing);
    expect(await answers()).toEqual([]);
  });

  it('are dropped when the queue is full, and left alone far behind the head', async () => {
    const { cells, counts } = open({ account: fromFullState() }, { queue: 1, concurrency: 0, lagSteps: 5 });
    await cells.look([step(LAST)], LAST + 6);
    expect(counts.size).toBe(0);
    await cells.look([step(LAST)], LAST);
    expect(counts.get('dropped')).toBeGreaterThan(0);
  });

  it('larger than is kept are counted', async () => {
    const { cells, counts } = open({ account: fromFullState() }, { maxBytes: 10 });
    await cells.look([step(LAST)], LAST);
    await cells.idle();
    expect(counts.get('oversized')).toBeGreaterThan(0);
    expect(await answers()).toEqual([]);
  });
});

describe('extra currencies', () => {
  it.skipIf(shelf === null)(
    'are asked for again as long as the log may have a later state than the one answered',
    async () => {
      const { cells, writer } = open({ account: fromFullState() });
      const written = async (): Promise<number> => (await answers()).filter(({ kind }) => kind === 'account').length;
      const look = async (): Promise<void> => {
        await cells.look([step(LAST)], LAST);
        await cells.idle();
      };
      // The newest step of the log is another one, behind which the answer stands.
      for (let i = 0; i < 2; i++) await look();
      const asked = await written();
      expect(asked).toBe(2 * statesOf(step(LAST)).filter(({ extraPruned }) => extraPruned !== null).length);
      await writer.append([step(LAST)]);
      for (let i = 0; i < 3; i++) await look();
      expect(await written()).toBe((asked / 2) * 3);
    },
  );

  it.skipIf(shelf === null)(
    'that a block does not show are asked for until somebody has them, though it shows code and data',
    async () => {
      const last = stepOf(1159, readFileSync(blockFile('everscale-42_-1_8000000000000000_1159')));
      const pruned = statesOf(last).filter(({ extraPruned }) => extraPruned !== null);
      expect(pruned).toMatchObject([{ codeComplete: true, dataComplete: true }]);
      const asked: string[] = [];
      const { cells } = open({
        account(_block, workchain, id) {
          asked.push(rawAddress(addressOf(workchain, id)));
          return null;
        },
      });
      for (let i = 0; i < 2; i++) {
        await cells.look([last], 1159);
        await cells.idle();
      }
      const [address] = pruned.map(({ account }) => rawAddress(account));
      expect(asked.filter((one) => one === address)).toEqual([address, address]);
    },
  );

  it('are written with the account as a whole, which has the hash that the block names', async () => {
    const account = addressOf(0, Buffer.alloc(32, 1));
    const { boc, hash } = extraAccount(account, '90', { 100: '12345' });
    const transaction = Buffer.alloc(32, 9);
    const node = { account: async () => ({ boc, lastTransactionLt: '90', lastTransactionHash: transaction }) };
    const block = { workchain: 0, shard: '8000000000000000', seqno: 5, rootHash: hash, fileHash: hash };
    const asked = { account, stateHash: hash, lt: '90', transaction, block, mcSeqno: 7, globalId: -3, extra: 'any' };
    const whole = { kind: 'account', hash, account, lt: '90', transaction, mcSeqno: 7, globalId: -3, boc };
    expect(await askAccount(node, asked, stop.signal)).toMatchObject([whole]);
    expect(await askAccount(node, { ...asked, extra: null }, stop.signal)).toEqual([]);
    await expect(askAccount(node, { ...asked, stateHash: transaction }, stop.signal)).rejects.toThrow('the hash');
  });
});

describe('libraries', () => {
  /** TL-B of the node (crypto/vm/cells): exotic cell of type 2, then the hash of the code. */
  const libraryCell = (hash: Buffer): Buffer =>
    Buffer.concat([Buffer.from('b5ee9c72010101010023000842', 'hex'), Buffer.from([2]), hash]);
  const code = Buffer.from('b5ee9c7201010101000600000801020304', 'hex');
  const hash = Buffer.from(cellHash(openBoc(code), 0));
  const asked = new Map([
    [hash.toString('hex'), { globalId: -239, mcSeqno: 5 }],
    ['00'.repeat(32), { globalId: -239, mcSeqno: 5 }],
  ]);
  const node = (libraries: Map<string, Buffer>) =>
    createRecordedNode(readSequence(sequenceFile('mainnet-mc-2660')), { libraries });

  it('a library cell names its code', () => {
    const boc = openBoc(libraryCell(hash));
    expect(libraryOf(boc, 0)).toBe(hash.toString('hex'));
    expect(libraryOf(openBoc(code), 0)).toBeNull();
  });

  it.skipIf(shelf === null)('the code is believed when it has the hash', async () => {
    const { signal } = stop;
    const honest = node(new Map([[hash.toString('hex'), code]]));
    expect(await askLibraries(honest, asked, signal)).toMatchObject([
      { kind: 'library', hash, account: null, mcSeqno: 5, boc: canonicalBoc(code) },
    ]);
    const lying = node(new Map([[hash.toString('hex'), libraryCell(hash)]]));
    expect(await askLibraries(lying, asked, signal)).toEqual([]);
    const garbage = node(new Map([[hash.toString('hex'), Buffer.from('x')]]));
    await expect(askLibraries(garbage, asked, signal)).rejects.toThrow('a library cannot be read');
  });
});

describe('a cell record', () => {
  const boc = Buffer.from('b5ee9c7201010101000600000801020304', 'hex');
  const opened = openBoc(boc);
  const cell = {
    kind: 'data' as const,
    hash: Buffer.from(cellHash(opened, 0)),
    account: addressOf(-1, Buffer.alloc(32, 3)),
    lt: '18446744073709551615',
    transaction: null,
    mcSeqno: 7,
    after: 12,
    globalId: -239,
    receivedAtMs: 1_700_000_000_000,
    boc,
  };
  const stored = (record = encodeCellRecord(cell)) => ({ ...record, offset: 4, time: 0 });

  it('reads back', () => {
    expect(decodeCellRecord(stored(), 't')).toEqual({ ...cell, offset: 4 });
    const library = { ...cell, kind: 'library' as const, account: null, lt: null };
    expect(decodeCellRecord(stored(encodeCellRecord(library)), 't')).toEqual({ ...library, offset: 4 });
    expect(rawAddress(cell.account)).toBe(`-1:${'03'.repeat(32)}`);
  });

  it.each([
    ['v', '2'],
    ['kind', 'state'],
    ['account', 'x'],
    ['lt', '-1'],
    ['after', ''],
  ])('of a wrong %s is refused', (name, value) => {
    const record = stored();
    const refuse = () => decodeCellRecord({ ...record, headers: { ...record.headers, [name]: value } }, 't');
    expect(refuse).toThrow(EnvelopeError);
    expect(refuse).toThrow(`t, offset 4: ${name}: `);
  });

  it('with bytes that do not have its hash is refused', () => {
    const other = Buffer.from(boc);
    other[other.length - 1] ^= 1;
    expect(() => decodeCellRecord({ ...stored(), value: other }, 't')).toThrow('value: does not have the hash');
    expect(() => decodeCellRecord({ ...stored(), value: Buffer.from('x') }, 't')).toThrow('t, offset 4: value: ');
  });
});
