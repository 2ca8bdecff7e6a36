import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { blockFile } from '../../test/recorded-blocks.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { hashNormOf } from './merge.ts';
import { confirmedNode } from './nodes.ts';
import { readSigned } from './signed-blocks.ts';
import { createSignedMessages } from './signed-messages.ts';

/** The nodes of a recorded block that has received messages from outside, and what they take. */
function recorded() {
  const bytes = readFileSync(blockFile('mainnet_0_8000000000000000_40484416'));
  const { workchain, shard, seqno } = decodeBlock(openBoc(bytes)).header;
  const id = { workchain, shard, seqno, rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
  const { transactions, memory } = readSigned(id, bytes);
  const nodes = transactions.map((one) => confirmedNode(one, id, 1));
  const messages = nodes.flatMap(({ transaction: { inMsg } }) => (inMsg?.kind === 'external_in' ? [inMsg] : []));
  return { nodes, memory, hashes: messages.map(hashNormOf) };
}

it('are found by each message until the blocks take more memory than they may', () => {
  const { nodes, memory, hashes } = recorded();
  expect(hashes.length).toBeGreaterThan(2);
  const [first, second, ...others] = hashes;
  const nodesOf = (hash: Buffer) =>
    nodes.filter(({ transaction: { inMsg } }) => inMsg !== null && hashNormOf(inMsg).equals(hash));
  const messages = createSignedMessages(2 * memory);
  messages.note(nodes, memory);
  for (const hash of hashes) expect(messages.nodesWith(hash)).toBe(nodes);
  messages.note(nodesOf(first), 1.5 * memory);
  expect(messages.nodesWith(first)).toHaveLength(1);
  expect(others.filter((hash) => messages.nodesWith(hash) !== undefined).length).toBeLessThan(others.length);
  messages.note(nodesOf(second), 1.5 * memory);
  expect(messages.nodesWith(first)).toBeUndefined();
  expect(messages.nodesWith(second)).toHaveLength(1);
});
