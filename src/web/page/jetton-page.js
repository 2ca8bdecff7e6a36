/** A jetton: what its master says, who holds it, who moved it. */
import { ApiError, ask, askAt, atMost, book, tokenOf } from './ask.js';
import { element } from './elements.js';
import { exactAmount, short } from './format.js';
import { card, facts, heading, none, pagedTable } from './layout.js';
import { accountLink, accountName, copied, decimalsOf, hashLink, named, timeOf, tokensOf } from './links.js';
import { jsonLink, seriesChart, seriesUrl } from './series.js';

const HOLDERS = atMost(50);
const TRANSFERS = atMost(25);

export async function jettonPage(given) {
  const { jetton_masters: masters } = await ask('jetton/masters', { address: given });
  const [master] = masters;
  if (master === undefined) throw new ApiError('No jetton master is known at this address.', 404);
  const { address } = master;
  const hours = seriesUrl('jettons', { jetton: address });
  const [holders, transfers, { points, resolution }] = await Promise.all([
    holdersOf(address, 0),
    transfersOf(address, 0),
    askAt(hours),
  ]);
  const token = tokenOf(address);
  const name = token?.name?.trim() || accountName(address);
  const holderRows = (wallets) =>
    wallets.map((wallet) => [
      accountLink(wallet.owner),
      tokensOf(wallet.balance, address),
      share(wallet.balance, master.total_supply),
    ]);
  const transferRows = (some) =>
    some.map((transfer) => [
      hashLink(transfer.transaction_hash),
      timeOf(transfer.transaction_now),
      accountLink(transfer.source),
      transfer.destination === null ? '' : accountLink(transfer.destination),
      tokensOf(transfer.amount, address),
    ]);
  // Those that come while the page stands open would move the others on.
  const end = transfers[0]?.transaction_lt;
  const counted = points.map((point) => ({ ...point, value: point.value[0]?.count ?? 0 }));
  const columns = ['Transaction', 'Time', 'From', 'To', 'Amount'];
  const friendly = book.rows.get(address)?.user_friendly ?? address;
  return {
    title: `${short(name, 40, 8)} · jetton`,
    sections: [
      heading(element('bdi', {}, short(name, 300, 20)), copied(friendly, 'address')),
      card('Master', masterFacts(master, token)),
      card(
        'Holders',
        holders.length === 0
          ? none('Nobody holds it.')
          : pagedTable('Holders', ['Owner', 'Balance', 'Share'], {
              first: holders,
              limit: HOLDERS,
              page: (offset) => holdersOf(address, offset),
              rowsOf: holderRows,
            }),
      ),
      card('Transfers an hour', seriesChart('Transfers an hour', 'jettons', { points: counted, resolution }), [
        jsonLink(hours),
      ]),
      card(
        'Transfers',
        transfers.length === 0
          ? none('None yet.')
          : pagedTable('Transfers', columns, {
              first: transfers,
              limit: TRANSFERS,
              page: (offset) => transfersOf(address, offset, end),
              rowsOf: transferRows,
            }),
      ),
    ],
  };
}

async function holdersOf(master, offset) {
  const asked = { jetton_address: master, exclude_zero_balance: true, sort: 'desc', limit: HOLDERS, offset };
  return (await ask('jetton/wallets', asked)).jetton_wallets;
}

/** Newest first; @param end lt of the newest one, once that is known */
async function transfersOf(master, offset, end) {
  const asked = { jetton_master: master, end_lt: end, sort: 'desc', limit: TRANSFERS, offset };
  return (await ask('jetton/transfers', asked)).jetton_transfers;
}

function masterFacts(master, token) {
  const decimals = decimalsOf(master.address);
  return facts([
    ['Symbol', token?.symbol ? named(token.symbol) : null],
    ['Description', token?.description ? element('bdi', {}, short(token.description, 4_000, 20)) : null],
    ['Supply', exactAmount(master.total_supply, decimals)],
    ['Decimals', String(decimals)],
    ['Mintable', master.mintable ? 'yes' : 'no'],
    ['Admin', master.admin_address === null ? 'none' : accountLink(master.admin_address)],
    ['Contract', accountLink(master.address, { whole: true })],
  ]);
}

/** In percent of the supply, two places, cut. */
function share(balance, supply) {
  const whole = BigInt(supply);
  if (whole <= 0n) return '';
  const parts = (BigInt(balance) * 10_000n) / whole;
  return `${parts / 100n}.${String(parts % 100n).padStart(2, '0')} %`;
}
