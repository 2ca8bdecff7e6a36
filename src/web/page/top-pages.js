/** Top lists: accounts by balance, jettons as they were found. */
import { ask, atMost, tokenOf } from './ask.js';
import { element } from './elements.js';
import { exactAmount } from './format.js';
import { card, heading, none, table } from './layout.js';
import { accountLink, accountName, decimalsOf, tonsOf } from './links.js';

const LISTED = atMost(100);

export async function accountsPage() {
  const balances = await ask('topAccountsByBalance', { limit: LISTED });
  if (balances.length > 0) await ask('addressBook', { address: balances.map(({ account }) => account) });
  const listed = balances.map(({ account, balance }, index) => [
    String(index + 1),
    accountLink(account, { whole: true }),
    tonsOf(balance),
  ]);
  const title = 'Accounts by balance';
  const shown = listed.length === 0 ? none('No accounts yet.') : table(title, ['', 'Account', 'Balance'], listed);
  return { title, sections: [heading(title), card('Accounts', shown)] };
}

export async function jettonsPage() {
  const { jetton_masters: masters } = await ask('jetton/masters', { limit: LISTED });
  const rows = masters.map((master) => {
    const token = tokenOf(master.address);
    const link = accountLink(master.address, { page: 'jetton' });
    link.replaceChildren(element('bdi', {}, token?.name?.trim() || accountName(master.address)));
    return [link, token?.symbol ?? '', exactAmount(master.total_supply, decimalsOf(master.address))];
  });
  const title = 'Jettons';
  const shown = rows.length === 0 ? none('No jettons yet.') : table(title, ['Name', 'Symbol', 'Supply'], rows);
  return { title, sections: [heading(title), card('Masters', shown)] };
}
