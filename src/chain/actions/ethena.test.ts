/** A deposit at Ethena as no recorded trace shows it. */
import { expect, test } from 'vitest';
import { account, op, type Sent } from '../../../test/made-trace.ts';
import { arriving, call, sending, wallets, wholes } from '../../../test/made-transfers.ts';
import { Builder } from '../builder.ts';
import type { KnownContracts } from './known.ts';

const MASTERS: Record<string, string> = {
  red: '0:086FA2A675F74347B08DD4606A549B8FDB98829CB282BC1949D3B12FBAED9DCC',
  blue: '0:D0E545323C7ACB7102653C073377F7E3C67F122EB94D430A250739F109D4A57D',
};

/** Wallets of red jettons are of USDe, those of blue ones of staked USDe. */
const staking = (names: Record<string, string>): Partial<KnownContracts> => ({
  jettonWallet(address) {
    const wallet = wallets(address);
    const name = Object.keys(MASTERS).find((one) => wallet?.jetton === account(one));
    return wallet && name ? { ...wallet, jetton: names[name] } : wallet;
  },
});

function depositing(...returned: Sent[]): Sent {
  const minted = arriving({ from: 'pool', to: 'alice', jetton: 'blue', amount: '4' });
  const body = call(0x642b7d07).to('alice').grams(1n).ref(new Builder().cell()).cell();
  const mint: Sent = { to: 'blue', body, sends: [minted, ...returned] };
  return sending({ from: 'alice', to: 'pool', jetton: 'red', amount: '5', after: [mint] });
}

test('what a minter sends back is no part of a deposit', () => {
  const excess: Sent = { to: 'pool', body: op(0xd53276db) };
  const told = wholes([depositing(excess)], staking(MASTERS));
  expect(told.map(({ type }) => type)).toEqual(['stake_deposit', 'call_contract']);
  expect(told[0].details).toMatchObject({ provider: 'ethena', amount: '5', tokens_minted: '4' });
});

test('other jettons are no deposit', () => {
  const told = wholes([depositing()], staking({ ...MASTERS, blue: MASTERS.red }));
  expect(told.map(({ type }) => type)).toEqual(['jetton_transfer', 'jetton_mint']);
});
