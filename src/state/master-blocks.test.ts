import { expect, it } from 'vitest';
import type { EventLog } from '../../streams/log.ts';
import { masterBlockAtHand, masterBlocks } from './master-blocks.ts';

it('leaves it to others to be asked when the log does not answer', async () => {
  const log = { last: () => new Promise(() => undefined) } as unknown as EventLog;
  const masterBlock = masterBlocks(log, 'ton.blocks.v1', 50);
  await expect(masterBlock(7)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await masterBlockAtHand(masterBlock, 7)).toBeNull();
});
