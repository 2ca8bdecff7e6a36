/** Top lists: accounts by balance, jettons as they were found. */
import { ask, atMost, tokenOf } from './ask.js';
import { exactAmount } from './format.js';
import { card, heading, none, pagedTable } from './layout.js';
import { accountLink, accountName, decimalsOf, named, tonsOf } from './links.js';

const LISTED = atMost(100);

export async function accountsPage() {
  const page = async (offset) => {
    const balances = await ask('topAccountsByBalance', { limit: LISTED, offset });
    if (balances.length > 0) await ask('addressBook', { address: balances.map(({ account }) => account) });
    return balances.map((row, index) => ({ ...row, place: offset + index + 1 }));
  };
  const rowsOf = (balances) =>
    balances.map(({ account, balance, place }) => [
      String(place),
      accountLink(account, { whole: true }),
      tonsOf(balance),
    ]);
  const first = await page(0);
  const title = 'Accounts by balance';
  const shown =
    first.length === 0
      ? none('No accounts yet.')
      : pagedTable(title, ['', 'Account', 'Balance'], { first, limit: LISTED, page, rowsOf });
  return { title, sections: [heading(title), card('Accounts', shown)] };
}

export async function jettonsPage() {
  const page = async (offset) => (await ask('jetton/masters', { limit: LISTED, offset })).jetton_masters;
  const rowsOf = (masters) =>
    masters.map((master) => {
      const token = tokenOf(master.address);
      const link = accountLink(master.address, { page: 'jetton' });
      link.replaceChildren(named(token?.name?.trim() || accountName(master.address)));
      return [link, named(token?.symbol ?? ''), exactAmount(master.total_supply, decimalsOf(master.address))];
    });
  const first = await page(0);
  const title = 'Jettons';
  const shown =
    first.length === 0
      ? none('No jettons yet.')
      : pagedTable(title, ['Name', 'Symbol', 'Supply'], { first, limit: LISTED, page, rowsOf });
  return { title, sections: [heading(title), card('Masters', shown)] };
}
