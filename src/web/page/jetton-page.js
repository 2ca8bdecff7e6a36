/** A jetton: what its master says, who holds it, who moved it. */
import { ApiError, ask, askAt, atMost, book, tokenOf } from './ask.js';
import { element } from './elements.js';
import { exactAmount } from './format.js';
import { card, facts, heading, none, table } from './layout.js';
import { accountLink, accountName, copied, decimalsOf, hashLink, timeOf, tokensOf } from './links.js';
import { jsonLink, seriesChart, seriesUrl } from './series.js';

const HOLDERS = atMost(50);
const TRANSFERS = atMost(25);

export async function jettonPage(given) {
  const { jetton_masters: masters } = await ask('jetton/masters', { address: given });
  const [master] = masters;
  if (master === undefined) throw new ApiError('No jetton master is known at this address.', 404);
  const { address } = master;
  const hours = seriesUrl('jettons', { jetton: address });
  const [holders, moved, { points, resolution }] = await Promise.all([
    ask('jetton/wallets', { jetton_address: address, sort: 'desc', limit: HOLDERS }),
    ask('jetton/transfers', { jetton_master: address, limit: TRANSFERS, sort: 'desc' }),
    askAt(hours),
  ]);
  const token = tokenOf(address);
  const name = token?.name?.trim() || accountName(address);
  const rows = holders.jetton_wallets.map((wallet) => [
    accountLink(wallet.owner),
    tokensOf(wallet.balance, address),
    share(wallet.balance, master.total_supply),
  ]);
  const transfers = moved.jetton_transfers.map((transfer) => [
    hashLink(transfer.transaction_hash),
    timeOf(transfer.transaction_now),
    accountLink(transfer.source),
    transfer.destination === null ? '' : accountLink(transfer.destination),
    tokensOf(transfer.amount, address),
  ]);
  const counted = points.map((point) => ({ ...point, value: point.value[0]?.count ?? 0 }));
  const columns = ['Transaction', 'Time', 'From', 'To', 'Amount'];
  const friendly = book.rows.get(address)?.user_friendly ?? address;
  return {
    title: `${name} · jetton`,
    sections: [
      heading(element('bdi', {}, name), copied(friendly, 'address')),
      card('Master', masterFacts(master, token)),
      card(
        'Holders',
        rows.length === 0 ? none('Nobody holds it.') : table('Holders', ['Owner', 'Balance', 'Share'], rows),
      ),
      card('Transfers an hour', seriesChart('Transfers an hour', 'jettons', { points: counted, resolution }), [
        jsonLink(hours),
      ]),
      card('Transfers', transfers.length === 0 ? none('None yet.') : table('Transfers', columns, transfers)),
    ],
  };
}

function masterFacts(master, token) {
  const decimals = decimalsOf(master.address);
  return facts([
    ['Symbol', token?.symbol ? element('bdi', {}, token.symbol) : null],
    ['Description', token?.description ? element('bdi', {}, token.description) : null],
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
