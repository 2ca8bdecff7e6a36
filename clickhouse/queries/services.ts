/** Names, wallets of several signers and their orders, vesting. */
import type {
  DnsFilter,
  DnsRecord,
  MultisigOrderRecord,
  MultisigRecord,
  VestingRecord,
} from '../../src/chain/contract-records.ts';
import type { Address } from '../../src/chain/model.ts';
import type { Page, QueryContext, Sort } from '../../src/chain/records.ts';
import { bytes, list, textLiteral } from '../literal.ts';
import { dnsRecords } from '../tables/nfts.ts';
import { multisigOrders, multisigWallets, vestingContracts } from '../tables/services.ts';
import { addresses, direction } from './keys.ts';
import { newest } from './newest.ts';
import type { NewestReading } from './reading.ts';

export function serviceQueries(reading: NewestReading) {
  return {
    dnsRecords({ wallet, domain, page }: DnsFilter, context: QueryContext): Promise<DnsRecord[]> {
      const conditions: string[] = [];
      if (wallet !== undefined) {
        const is = `dns_wallet = ${bytes(wallet)}`;
        conditions.push(is, `address IN (SELECT address FROM dns_records_by_wallet WHERE ${is})`);
      }
      if (domain !== undefined) {
        const is = `domain = ${textLiteral(domain)}`;
        conditions.push(is, `address IN (SELECT address FROM dns_records_by_domain WHERE ${is})`);
      }
      return newest(reading, dnsRecords, { conditions, order: 'lengthUTF8(domain), domain, address', page }, context);
    },

    multisigWallets(
      filter: { addresses: Address[]; members: Address[]; sort: Sort; page: Page },
      context: QueryContext,
    ): Promise<MultisigRecord[]> {
      const conditions: string[] = [];
      if (filter.addresses.length > 0) conditions.push(`address IN ${addresses(filter.addresses)}`);
      if (filter.members.length > 0) {
        const members = arrayOf(filter.members);
        conditions.push(`(hasAny(signers, ${members}) OR hasAny(proposers, ${members}))`);
      }
      const way = direction(filter.sort);
      return newest(
        reading,
        multisigWallets,
        { conditions, order: `id ${way}, address ${way}`, page: filter.page },
        context,
      );
    },

    multisigOrders(
      filter: { addresses: Address[]; multisigs: Address[]; sort: Sort; page: Page | null },
      context: QueryContext,
    ): Promise<MultisigOrderRecord[]> {
      const conditions: string[] = [];
      if (filter.addresses.length > 0) conditions.push(`address IN ${addresses(filter.addresses)}`);
      if (filter.multisigs.length > 0) {
        const multisig = `multisig_address IN ${addresses(filter.multisigs)}`;
        conditions.push(multisig, `address IN (SELECT address FROM multisig_orders_by_multisig WHERE ${multisig})`);
      }
      const way = direction(filter.sort);
      return newest(
        reading,
        multisigOrders,
        { conditions, order: `id ${way}, address ${way}`, page: filter.page },
        context,
      );
    },

    vestingContracts(
      filter: { addresses: Address[]; members: Address[]; checkWhitelist: boolean; page: Page },
      context: QueryContext,
    ): Promise<VestingRecord[]> {
      const conditions: string[] = [];
      if (filter.addresses.length > 0) conditions.push(`address IN ${addresses(filter.addresses)}`);
      if (filter.members.length > 0) {
        const members = addresses(filter.members);
        const listed = filter.checkWhitelist ? ` OR hasAny(whitelist, ${arrayOf(filter.members)})` : '';
        conditions.push(`(owner_address IN ${members} OR sender_address IN ${members}${listed})`);
      }
      return newest(reading, vestingContracts, { conditions, order: 'id, address', page: filter.page }, context);
    },
  };
}

function arrayOf(values: readonly Address[]): string {
  return `[${list(values.map((value) => `toFixedString(${bytes(value)}, 36)`)).slice(1, -1)}]`;
}
