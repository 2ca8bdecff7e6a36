/** A block: its header, its neighbours, its transactions. */
import { ApiError, ask } from './ask.js';
import { element } from './elements.js';
import { count } from './format.js';
import { card, facts, heading, none, table } from './layout.js';
import { accountLink, blockLink, copied, hashLink, timeOf, tonsOf } from './links.js';
import { failureOf, operationOf } from './trace-graph.js';

const LISTED = 100;

/** `id`: `workchain,shard,seqno` with the shard in hex, brackets allowed, or a masterchain seqno. */
export async function blockPage(id) {
  const parts = id.replace(/[()\s]/g, '').split(',');
  const [workchain, shard, seqno] = parts.length === 3 ? parts : ['-1', '8000000000000000', parts[0]];
  const place = { workchain, shard, seqno };
  const { blocks } = await ask('blocks', place);
  const [block] = blocks;
  if (block === undefined) throw new ApiError('No such block is indexed.', 404);
  const isMaster = block.workchain === -1;
  const [inside, shards] = await Promise.all([
    ask('transactions', { ...place, limit: LISTED, sort: 'asc' }),
    isMaster ? ask('masterchainBlockShards', { seqno, limit: LISTED }) : null,
  ]);
  const name = isMaster ? `Masterchain block ${block.seqno}` : `Block ${block.workchain}:${block.shard}:${block.seqno}`;
  const sections = [heading(name, copied(block.root_hash, 'root hash')), card('Header', headerFacts(block))];
  const others = (shards?.blocks ?? []).filter((other) => other.workchain !== -1);
  if (others.length > 0) {
    const rows = others.map((other) => [blockLink(other), count(other.tx_count ?? 0), timeOf(Number(other.gen_utime))]);
    sections.push(card('Shard blocks', table('Shard blocks', ['Block', 'Transactions', 'Time'], rows)));
  }
  sections.push(card('Transactions', transactionTable(inside.transactions, block.tx_count ?? 0)));
  return { title: name, sections };
}

function headerFacts(block) {
  const next = { ...block, seqno: block.seqno + 1 };
  const reference = block.masterchain_block_ref;
  return facts([
    ['Time', timeOf(Number(block.gen_utime))],
    ['Before', block.prev_blocks.flatMap((before, index) => [index > 0 ? ', ' : '', blockLink(before)])],
    ['After', blockLink(next)],
    ['Masterchain block', reference && block.workchain !== -1 ? blockLink(reference) : null],
    ['Transactions', count(block.tx_count ?? 0)],
    ['Logical time', `${block.start_lt} to ${block.end_lt}`],
    ['Key block', block.key_block ? 'yes' : null],
    ['File hash', block.file_hash],
  ]);
}

function transactionTable(transactions, total) {
  if (transactions.length === 0) return none('The block has no transactions.');
  const columns = ['Transaction', 'Account', 'Operation', 'Value', 'Outcome'];
  const rows = transactions.map((transaction) => [
    hashLink(transaction.hash),
    accountLink(transaction.account),
    operationOf(transaction),
    transaction.in_msg?.value ? tonsOf(transaction.in_msg.value) : '',
    failureOf(transaction) ?? 'success',
  ]);
  const shown = table('Transactions', columns, rows);
  const left = total - transactions.length;
  return left > 0 ? element('div', {}, shown, none(`and ${count(left)} more`)) : shown;
}
