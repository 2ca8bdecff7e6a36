import type { ContractSource, TokenCandidates, Tokens } from '../../src/chain/contract-records.ts';
import { distinct } from '../../src/chain/hash.ts';
import type { Address } from '../../src/chain/model.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { jettonMasters, jettonWallets } from '../tables/jettons.ts';
import { nftCollections, nftItems } from '../tables/nfts.ts';
import { documentQueries } from './documents.ts';
import { createDomains, type NameFigures } from './domains.ts';
import { eventQueries } from './events.ts';
import { jettonQueries } from './jettons.ts';
import { addresses } from './keys.ts';
import { newestOf, part } from './newest.ts';
import { nftQueries } from './nfts.ts';
import type { FollowingReading } from './reading.ts';
import { serviceQueries } from './services.ts';
import type { TransactionQueries } from './transactions.ts';

/** All that the tables know of contracts, for the steps up to the head. */
export function contractQueries(
  reading: FollowingReading,
  transactionsAt: TransactionQueries['transactionsAt'],
  onNamesFailure?: (error: unknown) => void,
): ContractSource & { names: NameFigures } {
  const { domainOf, figures } = createDomains(reading, onNamesFailure);

  async function tokens(
    { items, collections, masters, wallets }: TokenCandidates,
    context: QueryContext,
  ): Promise<Tokens> {
    const among = (some: readonly Address[]): string | null =>
      some.length === 0 ? null : `address IN ${addresses(distinct(some))}`;
    const ownWallets = among(wallets);
    // A wallet brings its master along.
    const ofWallets = ownWallets && `address IN (SELECT jetton FROM ${jettonWallets.name} FINAL WHERE ${ownWallets})`;
    const ownMasters = [among(masters), ofWallets].filter((condition) => condition !== null);
    const [foundItems, foundCollections, foundWallets, foundMasters] = await newestOf(
      reading,
      [
        part(nftItems, among(items)),
        part(nftCollections, among(collections)),
        part(jettonWallets, ownWallets),
        part(jettonMasters, ownMasters.length === 0 ? null : ownMasters.join(' OR ')),
      ],
      'tokens',
      context,
    );
    return { items: foundItems, collections: foundCollections, masters: foundMasters, wallets: foundWallets };
  }

  return {
    domainOf,
    names: figures,
    ...jettonQueries(reading),
    ...nftQueries(reading),
    ...serviceQueries(reading),
    ...eventQueries(reading, transactionsAt),
    ...documentQueries(reading),
    tokens,
  };
}
