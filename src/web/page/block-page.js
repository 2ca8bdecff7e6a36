/** A block: its header, its neighbours, its transactions. */
import { ApiError, ask, atMost } from './ask.js';
import { count } from './format.js';
import { card, facts, heading, none, pagedTable } from './layout.js';
import { accountLink, blockLink, copied, hashLink, timeOf, tonsOf } from './links.js';
import { failureOf, operationOf } from './trace-graph.js';

const LISTED = atMost(100);

/** `id`: `workchain,shard,seqno` with the shard in hex, brackets allowed, or a masterchain seqno. */
export async function blockPage(id) {
  const parts = id.replace(/[()\s]/g, '').split(',');
  if (parts.length !== 1 && parts.length !== 3) {
    throw new ApiError('A block is named by workchain,shard,seqno, or by the seqno of a masterchain block.', 404);
  }
  const [workchain, shard, seqno] = parts.length === 3 ? parts : ['-1', '8000000000000000', parts[0]];
  const place = { workchain, shard, seqno };
  const { blocks } = await ask('blocks', place);
  const [block] = blocks;
  if (block === undefined) throw new ApiError('No such block is indexed.', 404);
  const isMaster = block.workchain === -1;
  const stepFrom = async (offset) => (await ask('blocks', { mc_seqno: seqno, limit: LISTED, offset })).blocks;
  const insideFrom = async (offset) =>
    (await ask('transactions', { ...place, limit: LISTED, sort: 'asc', offset })).transactions;
  const [inside, step, next] = await Promise.all([insideFrom(0), isMaster ? stepFrom(0) : [], nextOf(block)]);
  const name = isMaster ? `Masterchain block ${block.seqno}` : `Block ${block.workchain}:${block.shard}:${block.seqno}`;
  const sections = [heading(name, copied(block.root_hash, 'root hash')), card('Header', headerFacts(block, next))];
  if (shardRows(step).length > 0) {
    const options = { first: step, limit: LISTED, page: stepFrom, rowsOf: shardRows };
    sections.push(card('Shard blocks', pagedTable('Shard blocks', ['Block', 'Transactions', 'Time'], options)));
  }
  sections.push(card('Transactions', transactionTable(inside, insideFrom)));
  return { title: name, sections };
}

/** The masterchain block is among those of its step. */
function shardRows(blocks) {
  return blocks
    .filter(({ workchain }) => workchain !== -1)
    .map((block) => [blockLink(block), count(block.tx_count ?? 0), timeOf(Number(block.gen_utime))]);
}

/** The zero state, from which the first block follows, is no block. */
const linked = (blocks) =>
  blocks.flatMap((one, index) => [index > 0 ? ', ' : '', one.seqno === 0 ? 'the zero state' : blockLink(one)]);

/** Longest wait for the block behind two shards that merge: its time is not known, only its shard. */
const MERGED_WITHIN_S = 3_600;
const shardName = (number) => number.toString(16).padStart(16, '0');

/**
 * The indexed blocks that follow one: in its shard, in both halves of it, whose names have one bit more before the last
 * 1, or in the shard that it was merged into, whose name has one bit less.
 */
export async function nextOf({ workchain, shard, seqno, gen_utime: utime, end_lt: lt, before_split: isSplit }) {
  const follows = ({ prev_blocks: before }) =>
    before.some((one) => one.workchain === workchain && one.shard === shard && one.seqno === seqno);
  const blocksOf = async (name, asked) => {
    const { blocks } = await ask('blocks', { workchain, shard: shardName(name), ...asked });
    return blocks.filter(follows);
  };
  const name = BigInt(`0x${shard}`);
  const mark = name & -name;
  const shards = isSplit ? [name - mark / 2n, name + mark / 2n] : [name];
  const found = (await Promise.all(shards.map((one) => blocksOf(one, { seqno: seqno + 1 })))).flat();
  if (found.length > 0 || isSplit || mark === 1n << 63n) return found;
  const time = { start_utime: utime, end_utime: Number(utime) + MERGED_WITHIN_S, start_lt: lt };
  return blocksOf((name & ~(mark * 3n)) | (mark * 2n), { ...time, sort: 'asc', limit: 1 });
}

/** @param next the blocks that follow it */
function headerFacts(block, next) {
  const reference = block.masterchain_block_ref;
  return facts([
    ['Time', timeOf(Number(block.gen_utime))],
    ['Before', linked(block.prev_blocks)],
    ['After', next.length > 0 ? linked(next) : 'none is indexed'],
    ['Masterchain block', reference && block.workchain !== -1 ? blockLink(reference) : null],
    ['Transactions', count(block.tx_count ?? 0)],
    ['Logical time', `${block.start_lt} to ${block.end_lt}`],
    ['Key block', block.key_block ? 'yes' : null],
    ['File hash', block.file_hash],
  ]);
}

function transactionTable(first, page) {
  if (first.length === 0) return none('The block has no transactions.');
  const columns = ['Transaction', 'Account', 'Operation', 'Value', 'Outcome'];
  const rowsOf = (transactions) =>
    transactions.map((transaction) => [
      hashLink(transaction.hash),
      accountLink(transaction.account),
      operationOf(transaction),
      transaction.in_msg?.value ? tonsOf(transaction.in_msg.value) : '',
      failureOf(transaction) ?? 'success',
    ]);
  return pagedTable('Transactions', columns, { first, limit: LISTED, page, rowsOf });
}
