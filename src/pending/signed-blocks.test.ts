import { expect, it } from 'vitest';
import { recordedBlocks } from '../../test/recorded-blocks.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { readSigned } from './signed-blocks.ts';

it('reads the jetton wallets of well-known code that a block leaves, though it does not show all their cells', async () => {
  const balances: string[] = [];
  for await (const { bytes } of recordedBlocks()) {
    const { workchain, shard, seqno } = decodeBlock(openBoc(bytes)).header;
    const id = { workchain, shard, seqno, rootHash: Buffer.alloc(32), fileHash: Buffer.alloc(32) };
    for (const { claims } of readSigned(id, bytes).transactions) {
      if (claims === null) continue;
      expect([claims.owner.length, claims.master.length]).toEqual([36, 36]);
      balances.push(claims.balance);
    }
  }
  expect(balances.filter((balance) => balance !== '0').length).toBeGreaterThan(20);
});
