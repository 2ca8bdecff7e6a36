import type { ContractSource, TokenCandidates, Tokens } from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { jettonMasters, jettonWallets } from '../tables/jettons.ts';
import { nftCollections, nftItems } from '../tables/nfts.ts';
import { createDomains, type NameFigures } from './domains.ts';
import { eventQueries } from './events.ts';
import { jettonQueries } from './jettons.ts';
import { addresses, distinct } from './keys.ts';
import { newest } from './newest.ts';
import { nftQueries } from './nfts.ts';
import type { FollowingReading } from './reading.ts';
import { serviceQueries } from './services.ts';
import type { TransactionQueries } from './transactions.ts';

/** All that the tables know of contracts, for the steps up to the head. */
export function contractQueries(
  reading: FollowingReading,
  transactionsAt: TransactionQueries['transactionsAt'],
): ContractSource & { names: NameFigures } {
  const { domainOf, figures } = createDomains(reading);

  async function tokens(
    { items, collections, masters, wallets }: TokenCandidates,
    context: QueryContext,
  ): Promise<Tokens> {
    const at = (some: readonly Address[]) => ({
      conditions: [`address IN ${addresses(distinct([...some]))}`],
      order: 'address',
    });
    const [foundItems, foundCollections, foundWallets] = await Promise.all([
      items.length === 0 ? [] : newest(reading, nftItems, at(items), context),
      collections.length === 0 ? [] : newest(reading, nftCollections, at(collections), context),
      wallets.length === 0 ? [] : newest(reading, jettonWallets, at(wallets), context),
    ]);
    // A wallet brings its master along.
    const all = [...masters, ...foundWallets.map(({ jetton }) => jetton)];
    const foundMasters = all.length === 0 ? [] : await newest(reading, jettonMasters, at(all), context);
    return { items: foundItems, collections: foundCollections, masters: foundMasters, wallets: foundWallets };
  }

  return {
    domainOf,
    names: figures,
    ...jettonQueries(reading),
    ...nftQueries(reading),
    ...serviceQueries(reading),
    ...eventQueries(reading, transactionsAt),
    tokens,
  };
}
