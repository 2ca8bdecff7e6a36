/** What of an action depends on the network that it is printed for. */
import { describe, expect, it } from 'vitest';
import { madeAction, madeHash } from '../../../../test/made-chain.ts';
import { rawAddress } from '../../../chain/address.ts';
import { actionForm, actionJson } from './action.ts';
import { createBook } from './book.ts';

/** A jetton of mainnet alone. */
const JETTON = '0xca9006bd3fb03d355daeeff93b24be90afaa6e3ca0073ff5720f8a852c933278';
const MASTER = '0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE';
/** Another jetton on each network. */
const SHARED = '0x83d916c68510802104d1f75aa6ce30eb1e477aede0d380eee2188e0e56581fc6';
const SHARED_MASTER = '0:7E30FC2B7751BA58A3642F3FD59D5E96A810DDD78D8A310BFE8353BEF10500DF';
const TEST_MASTER = '0:DA639C946AD6271DE8BBDC706A457FCEC7D2CAD979D1ED7B8263D3050B620D6D';
const TON = '0x1a4219fe5e60d63af2a3cc7dce6fec69b45c6b5718497a6148e7c232ac87bd8a';

function liquidation(asset_id: string, asset: string | null) {
  const details = {
    debt_amount: '7',
    asset_id,
    asset,
    is_known_asset: asset !== null || asset_id === TON,
    amount: '5',
  };
  const accounts = ['0:4E3664FAEE814FBDB6C1CB36D72BAC52D15E186C11ECD664FE1B3F1A7CFD801D'];
  const action = { ...madeAction(madeHash(asset_id)), type: 'evaa_liquidate' };
  return { details, accounts, action: { ...action, content: JSON.stringify([details, accounts]) } };
}

describe.each(['as it is read', 'by its form'])('the jetton of a liquidation, %s', (how) => {
  it.each([
    ['stands for another one', SHARED, SHARED_MASTER, TEST_MASTER],
    ['is none that is known', JETTON, MASTER, null],
    ['is TON', TON, null, null],
  ])('on testnet %s', (_what, id, asset, onTestnet) => {
    const { details, accounts, action } = liquidation(id, asset);
    const shown = how === 'by its form' ? { ...action, form: actionForm(action) } : action;
    for (const testOnly of [false, true]) {
      const book = createBook(testOnly);
      const printed = JSON.parse(actionJson(shown, book, { accounts: true }));
      const master = testOnly ? onTestnet : asset;
      expect(printed.details).toEqual({ ...details, asset: master, is_known_asset: master !== null || id === TON });
      expect(printed.accounts).toEqual(accounts);
      expect(book.addresses().map(rawAddress)).toEqual(master === null ? [] : [master]);
    }
  });
});
