/** What is emulated behind signed blocks. */
import { expect, it } from 'vitest';
import { openPendingDevnet, SIGNAL, signedOf } from '../../test/pending-devnet.ts';
import { openBoc } from '../chain/boc.ts';
import { hashKey } from '../chain/hash.ts';
import { decodeTransaction } from '../chain/transaction.ts';
import { openNode } from './merge.ts';

/** In which some message is under way between signed blocks. */
const STEPS = 40;

it('emulates what follows from signed blocks on the states that they leave', async () => {
  // Between two shards messages are under way when both have made a block.
  const split = await openPendingDevnet('tails', 5, { chain: { splitAt: 4, mergeAt: 1000 } });
  const { tracker } = split.openTracker();
  const told = (from: number) =>
    split.told.slice(from).flatMap(({ change }) => (change.kind === 'trace' ? [change.trace.nodes.map(openNode)] : []));
  let compared = 0;
  for (let n = 0; n < STEPS && compared < 5; n++) {
    await tracker.step(await split.nextStep(), SIGNAL);
    await split.passOn(tracker);
    /** By account the hash of its last transaction. */
    const last = new Map<string, string>();
    const tops = new Map<string, number>();
    for (const block of split.collate()) {
      const signed = signedOf(block);
      for (const { boc } of signed.transactions) {
        const bag = openBoc(boc);
        const { account, hash } = decodeTransaction(bag, bag.roots[0], signed.id.workchain);
        last.set(hashKey(account), hash.toString('hex'));
      }
      tops.set(`${signed.id.workchain} ${signed.id.shard}`, signed.id.seqno);
      const before = split.told.length;
      // What was emulated before and came true so far stays.
      const old = new Set(told(0).flatMap((nodes) => nodes.map(({ transaction }) => hashKey(transaction.hash))));
      await tracker.signed(signed, SIGNAL);
      for (const nodes of told(before)) {
        const seen = new Set<string>();
        for (const { node, transaction } of nodes) {
          const key = hashKey(transaction.account);
          if (node.finality !== 'pending' || seen.has(key) || old.has(hashKey(transaction.hash))) continue;
          seen.add(key);
          const { workchain, shard, seqno } = node.block;
          expect(seqno).toBeGreaterThan(tops.get(`${workchain} ${shard}`) ?? 0);
          const known = last.get(key);
          if (known === undefined) continue;
          expect(transaction.prevHash.toString('hex')).toBe(known);
          compared++;
        }
      }
    }
  }
  await split.close();
  expect(compared).toBeGreaterThan(0);
});
