/** What is told of an account whose code and data neither a block nor a liteserver shows. */
import { describe, expect, it } from 'vitest';
import { createFakeSource } from '../../../test/fake-source.ts';
import { madeHash } from '../../../test/made-chain.ts';
import { addressOf } from '../../chain/address.ts';
import type { AccountRecord } from '../../chain/records.ts';
import { NodeError, type NodeErrorCode } from '../../node/chain-node.ts';
import type { StateSource } from '../../state/source.ts';
import { indexedState } from './newest-state.ts';

const account = addressOf(0, madeHash('account'));
const record: AccountRecord = {
  ...{ account, hash: madeHash('state'), status: 'active', balance: '7', extraCurrencies: {}, frozenHash: null },
  ...{ codeHash: madeHash('code'), dataHash: madeHash('data'), codeBoc: null, dataBoc: null, methods: null },
  ...{ lastTransactionHash: madeHash('last'), lastTransactionLt: '5' },
};

/** Over an index that is behind the liteservers: the states of its steps are not kept any more. */
function asking(code: NodeErrorCode, records: AccountRecord[]) {
  const { source } = createFakeSource({ accountStates: async () => records });
  const refuse = async (): Promise<never> => {
    throw new NodeError(code, 'state of block is not in db');
  };
  const states = { step: refuse, account: refuse } as unknown as StateSource;
  return indexedState(account, { source, states, context: { signal: new AbortController().signal, timeoutMs: 1_000 } });
}

describe('an account that is indexed without its code', () => {
  it('is told without it where no liteserver has the state any more', async () => {
    const { lastTransactionHash: hash, lastTransactionLt: lt } = record;
    const known = { status: 'active', balance: '7', code: null, data: null, lastTransaction: { lt, hash } };
    expect(await asking('not_found', [record])).toMatchObject(known);
  });

  it('is not told to have nothing where the index has never seen it', async () => {
    await expect(asking('not_found', [])).rejects.toMatchObject({ code: 'not_found' });
  });

  it('is not told where none answered: another try may show it', async () => {
    await expect(asking('unavailable', [record])).rejects.toMatchObject({ code: 'unavailable' });
  });
});
