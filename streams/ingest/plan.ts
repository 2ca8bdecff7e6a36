import type { BlockIdExt } from '../../src/chain/model.ts';
import { blockKey } from '../envelope.ts';
import { assembleStep, canonicalOrder, ForkError, MissingBlockError, type ShardTop } from './assembly.ts';
import type { BlockIndex, IndexedBlock } from './block-index.ts';
import { ANOTHER_LOG, IngestError, sameHashes } from './check.ts';
import type { LoggedEnd } from './logged.ts';

/** A step to append: its records in canonical order, the last one to be sealed. */
export interface PlannedStep {
  mcSeqno: number;
  blocks: IndexedBlock[];
  /** How many of them, from the first on, the log has already. */
  written: number;
}

export interface ImportPlan {
  /** By masterchain seqno. */
  steps: PlannedStep[];
  /** Shard blocks that no masterchain block of the run or the log commits. */
  leftOut: IndexedBlock[];
}

/** The first step of the log that blocks of the run can be in; null when that takes a look at the whole log. */
export function firstStepToCompare(index: BlockIndex, loose: boolean): number | null {
  if (loose) return null;
  let first = Number.POSITIVE_INFINITY;
  for (const { id, masterRefSeqno } of index.blocks.values()) {
    // A masterchain block commits only blocks built on an earlier one.
    first = Math.min(first, masterRefSeqno === null ? id.seqno : masterRefSeqno + 1);
  }
  return first;
}

/**
 * Puts the blocks of a run that the log does not have into steps that continue it.
 *
 * Strict: masterchain blocks follow each other and the log, every step is complete, and shard blocks which none of
 * them commits are left out. Loose: a masterchain block takes the shard blocks it commits as far as they are there;
 * any other shard block goes into the step its file names, else into the one after its master reference.
 *
 * @throws {IngestError} `missing`, `order`, `sealed` or `conflict`
 */
export async function planImport(index: BlockIndex, end: LoggedEnd, loose: boolean): Promise<ImportPlan> {
  const masters = [...index.blocks.values()]
    .filter(({ id }) => id.workchain === -1)
    .sort((a, b) => a.id.seqno - b.id.seqno);
  checkMasters(masters, end, loose);
  const steps = new Map<number, IndexedBlock[]>();
  const planned = new Set<IndexedBlock>();
  for (const master of masters.filter(({ loggedIn }) => loggedIn === null)) {
    const blocks = await committedBlocks(master, index, end, loose);
    for (const block of blocks) claim(planned, block, master);
    steps.set(master.id.seqno, blocks);
  }
  const rest = [...index.blocks.values()].filter(
    (block) => block.id.workchain !== -1 && block.loggedIn === null && !planned.has(block),
  );
  if (loose) {
    for (const block of rest) {
      const mcSeqno = block.givenMcSeqno ?? (block.masterRefSeqno ?? 0) + 1;
      const step = steps.get(mcSeqno);
      if (step === undefined) steps.set(mcSeqno, [block]);
      else step.push(block);
    }
  }
  const ordered = [...steps].sort(([a], [b]) => a - b).map(([mcSeqno, blocks]) => orderStep(index, mcSeqno, blocks));
  continueLog(ordered, end);
  return { steps: ordered, leftOut: loose ? [] : rest };
}

function orderStep(index: BlockIndex, mcSeqno: number, blocks: IndexedBlock[]): PlannedStep {
  const master = index.find({ workchain: -1, shard: '8000000000000000', seqno: mcSeqno });
  const ordered = canonicalOrder(blocks);
  return { mcSeqno, blocks: master?.loggedIn === null ? [...ordered, master] : ordered, written: 0 };
}

function checkMasters(masters: readonly IndexedBlock[], end: LoggedEnd, loose: boolean): void {
  let before: { id: BlockIdExt } | null = null;
  const fresh = masters.findIndex(({ loggedIn }) => loggedIn === null);
  for (const [at, master] of masters.entries()) {
    const follows = at === fresh && end.master !== null && end.master.id.seqno === master.id.seqno - 1;
    checkLink(master, follows ? end.master : before, loose);
    before = master;
  }
  if (loose || fresh < 0) return;
  const first = masters[fresh];
  const expected = end.sealed === null ? end.tail.at(0)?.mcSeqno : end.sealed.mcSeqno + 1;
  if (expected === undefined || first.id.seqno === expected || first.id.seqno < expected) return;
  const what = `masterchain block ${expected} is missing: the log ends with step ${expected - 1}`;
  throw new IngestError('order', first.place, `${what}, the next one given is ${first.id.seqno}`);
}

function checkLink(master: IndexedBlock, before: { id: BlockIdExt } | null, loose: boolean): void {
  if (before === null) return;
  const [prev] = master.prev;
  if (before.id.seqno === prev.seqno) {
    if (sameHashes(before.id, prev)) return;
    const what = `masterchain block ${master.id.seqno} does not follow the masterchain block ${prev.seqno}`;
    throw new IngestError('conflict', master.place, `${what} of these files or the log: other hashes`);
  }
  if (loose) return;
  const what = `masterchain block ${before.id.seqno + 1} is missing between ${before.id.seqno} and ${master.id.seqno}`;
  throw new IngestError('order', master.place, `${what} (--loose accepts holes)`);
}

async function committedBlocks(
  master: IndexedBlock,
  index: BlockIndex,
  end: LoggedEnd,
  loose: boolean,
): Promise<IndexedBlock[]> {
  const mcSeqno = master.id.seqno;
  const committed = await topsBefore(master, index, end);
  const find = (id: BlockIdExt): IndexedBlock | null => {
    const block = index.find(id);
    if (block === null || block.loggedIn !== null) return null;
    // With nothing else to tell where the step begins, the file's word counts.
    const earlier = committed === null && block.givenMcSeqno !== null && block.givenMcSeqno < mcSeqno;
    return earlier ? null : block;
  };
  try {
    return await assembleStep({ mcSeqno, tops: await index.tops(master), committed, loose }, find);
  } catch (error) {
    if (error instanceof MissingBlockError) {
      const what = `step ${mcSeqno} is not complete: ${error.message}`;
      throw new IngestError('missing', master.place, `${what} (--loose accepts holes)`, { cause: error });
    }
    if (error instanceof ForkError) {
      const place = index.find(error.block)?.place ?? master.place;
      throw new IngestError('conflict', place, error.message, { cause: error });
    }
    throw error;
  }
}

async function topsBefore(master: IndexedBlock, index: BlockIndex, end: LoggedEnd): Promise<ShardTop[] | null> {
  const [prev] = master.prev;
  if (prev.seqno === 0) return [];
  const before = index.find(prev);
  if (before !== null) return index.tops(before);
  return end.master !== null && end.master.id.seqno === prev.seqno ? end.master.tops : null;
}

function claim(planned: Set<IndexedBlock>, block: IndexedBlock, master: IndexedBlock): void {
  if (planned.has(block)) {
    const what = `block ${blockKey(block.id)} is committed by masterchain block ${master.id.seqno} and by an earlier one`;
    throw new IngestError('conflict', block.place, what);
  }
  planned.add(block);
}

/** Compares the first step with what the log has of it, and refuses steps that the log has passed. */
function continueLog(steps: readonly PlannedStep[], end: LoggedEnd): void {
  const sealed = end.sealed?.mcSeqno ?? Number.NEGATIVE_INFINITY;
  for (const { mcSeqno, blocks } of steps) {
    if (mcSeqno > sealed) break;
    const { place, id } = blocks[0];
    const what = `block ${blockKey(id)} belongs to step ${mcSeqno}, which the log does not hold with it`;
    const advice = `begin another log (${ANOTHER_LOG}) and give all files in one run`;
    throw new IngestError('sealed', place, `${what}; the log has passed it, its last step is ${sealed}: ${advice}`);
  }
  if (end.tail.length === 0 || steps.length === 0) return;
  const [first] = steps;
  const fits = end.tail.every(({ id }, at) => {
    const block = first.blocks.at(at);
    return block !== undefined && blockKey(block.id) === blockKey(id) && sameHashes(block.id, id);
  });
  if (end.tail[0].mcSeqno !== first.mcSeqno || !fits) {
    const what = `the log ends inside step ${end.tail[0].mcSeqno} and these files continue it otherwise`;
    throw new IngestError('order', first.blocks[0].place, `${what}: finish the import that was interrupted first`);
  }
  first.written = end.tail.length;
}
