/** The `metadata` of an answer: what tokens among its addresses are (spec v3 semantics 4.2). */
import { z } from 'zod';
import { rawAddress } from '../../../chain/address.ts';
import type { ContractSource, TokenCandidates, Tokens } from '../../../chain/contract-records.ts';
import { methodId } from '../../../chain/interfaces.ts';
import type { Address } from '../../../chain/model.ts';
import type { BookRecord, QueryContext } from '../../../chain/records.ts';

const METHODS = {
  items: methodId('get_nft_data'),
  collections: methodId('get_collection_data'),
  masters: methodId('get_jetton_data'),
  wallets: methodId('get_wallet_data'),
} as const satisfies Record<keyof TokenCandidates, number>;

const KINDS = ['items', 'collections', 'masters', 'wallets'] as const;

/** JSON text of the metadata of some accounts; their codes tell which of them are worth a question. */
export async function metadataJson(
  records: readonly BookRecord[],
  contracts: Pick<ContractSource, 'tokens'>,
  context: QueryContext,
): Promise<string> {
  const candidates = tokenCandidates(records);
  return createTokenInfos(candidates === null ? null : await contracts.tokens(candidates, context)).json(null);
}

/** Which accounts may be tokens, by their codes; null when none of them can. */
export function tokenCandidates(records: readonly BookRecord[]): TokenCandidates | null {
  const candidates: TokenCandidates = { items: [], collections: [], masters: [], wallets: [] };
  for (const { account, codeHash, methods } of records) {
    if (codeHash === null) continue;
    // Of code behind a library cell the methods are not known.
    for (const kind of KINDS) {
      if (methods === null || methods.includes(METHODS[kind])) candidates[kind].push(account);
    }
  }
  return KINDS.every((kind) => candidates[kind].length === 0) ? null : candidates;
}

export interface TokenInfos {
  /** JSON text of what is known of these accounts, and of the masters of the wallets among them; null for all there are. */
  json(accounts: readonly Address[] | null): string;
}

/** Of an address that is several things each is said: item, collection, master, wallet. */
export function createTokenInfos(tokens: Tokens | null): TokenInfos {
  const { items, collections, masters, wallets } = tokens ?? { items: [], collections: [], masters: [], wallets: [] };
  const infos = new Map<string, Info[]>();
  const masterOf = new Map<string, string>();
  const note = (address: Address, info: Info): void => {
    const key = rawAddress(address);
    const known = infos.get(key);
    if (known === undefined) infos.set(key, [info]);
    else known.push(info);
  };
  for (const { address, nftIndex, content } of items) {
    note(address, contentInfo('nft_items', content, `,"nft_index":"${nftIndex ?? '0'}"`));
  }
  for (const { address, collectionContent } of collections) {
    note(address, contentInfo('nft_collections', collectionContent));
  }
  for (const { address, jettonContent } of masters) note(address, contentInfo('jetton_masters', jettonContent));
  for (const { address, owner, jetton, balance } of wallets) {
    const extra = `{"owner":"${rawAddress(owner)}","jetton":"${rawAddress(jetton)}","balance":"${balance}"}`;
    note(address, { indexed: true, json: `{"valid":true,"type":"jetton_wallets","extra":${extra}}` });
    masterOf.set(rawAddress(address), rawAddress(jetton));
  }
  return {
    json(accounts) {
      const asked = accounts?.map(rawAddress) ?? [...infos.keys()];
      const shown = new Set(asked.flatMap((address) => [address, masterOf.get(address) ?? address]));
      const lines = [...shown].flatMap((address) => {
        const list = infos.get(address);
        if (list === undefined) return [];
        const indexed = list.every((info) => info.indexed);
        return [`"${address}":{"is_indexed":${indexed},"token_info":[${list.map(({ json }) => json).join(',')}]}`];
      });
      return `{${lines.sort().join(',')}}`;
    },
  };
}

interface Info {
  indexed: boolean;
  json: string;
}

const attributes = z.record(z.string(), z.string());
const SHOWN = ['name', 'symbol', 'description', 'image'] as const;

/** What the chain holds is all there is unless it names a document, which has to be fetched. */
function contentInfo(type: string, content: string, index = ''): Info {
  const known = attributes.parse(JSON.parse(content));
  if (known.uri !== undefined) return { indexed: false, json: `{"type":"${type}"${index}}` };
  if (!isValid(type, known)) return { indexed: true, json: `{"valid":false,"type":"${type}"${index}}` };
  let text = `{"valid":true,"type":"${type}"`;
  for (const name of SHOWN) if (known[name] !== undefined) text += `,"${name}":${JSON.stringify(known[name])}`;
  const others = Object.entries(known).filter(([name]) => !SHOWN.some((shown) => shown === name));
  const extra = JSON.stringify(Object.fromEntries(others));
  return { indexed: true, json: `${text}${index},"is_nsfw":false,"is_scam":false,"extra":${extra}}` };
}

function isValid(type: string, { name, symbol, description, image, domain }: Record<string, string>): boolean {
  if (type === 'jetton_masters') return symbol !== undefined;
  if (type === 'nft_items') return name !== undefined || domain !== undefined;
  return name !== undefined || description !== undefined || image !== undefined;
}
