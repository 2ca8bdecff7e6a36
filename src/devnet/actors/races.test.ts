import { expect, test } from 'vitest';
import { createChain } from '../chain.ts';
import { chainLedger, genesisOf } from '../chain-ledger.ts';
import { transactionsOf } from '../test-traces.ts';
import { createCast } from './cast.ts';
import { initialAccounts } from './initial-accounts.ts';
import { createRaces } from './races.ts';

test('of two messages for one seqno one is executed, and one in two races never reaches a block', async () => {
  const start = 1_760_000_000;
  const cast = createCast({ seed: 'races', traders: 2 });
  const genesis = genesisOf(initialAccounts(cast));
  const chain = await createChain({ folder: null, seed: 'x', genesis, blockTimeMs: 1000, startUtime: start });
  const race = createRaces(cast, chainLedger(chain));
  let heard = 0;
  chain.onExternal(() => void heard++);
  let executed = 0;
  for (let seqno = 1; seqno <= 13; seqno++) {
    const messages = transactionsOf(chain.produce(start + seqno)).map(({ inMsg }) => inMsg);
    executed += messages.filter((message) => message?.kind === 'external_in').length;
    await race({ seqno, nowMs: (start + seqno) * 1000 });
  }
  chain.close();
  // At the blocks 3 and 9 two that rival, at 6 and 12 one that is lost.
  expect([heard, executed]).toEqual([6, 2]);
});
