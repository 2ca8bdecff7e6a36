/** The `metadata` of an answer: what tokens among its addresses are (spec v3 semantics 4.2). */
import { z } from 'zod';
import { rawAddress } from '../../../chain/address.ts';
import type { ContractSource, ShownTokens, TokenCandidates, TokenDocument } from '../../../chain/contract-records.ts';
import { hashKey } from '../../../chain/hash.ts';
import { methodId } from '../../../chain/interfaces.ts';
import type { Address } from '../../../chain/model.ts';
import type { BookRecord, QueryContext } from '../../../chain/records.ts';
import { isLasting } from '../../../lasting.ts';
import { once, onceEach } from './once.ts';

const METHODS = {
  items: methodId('get_nft_data'),
  collections: methodId('get_collection_data'),
  masters: methodId('get_jetton_data'),
  wallets: methodId('get_wallet_data'),
} as const satisfies Record<keyof TokenCandidates, number>;

const KINDS = ['items', 'collections', 'masters', 'wallets'] as const;

export interface AlsoTokens {
  /** Tokens that nobody has but this answer: they are only emulated. */
  fresh?: ShownTokens;
  /** Accounts that may be tokens also without code: of one that is frozen or destroyed the tables still tell. */
  listed?: readonly Address[];
}

/** JSON text of the metadata of some accounts; their codes tell which of them are worth a question. */
export async function metadataJson(
  records: readonly BookRecord[],
  contracts: Pick<ContractSource, 'tokens' | 'documents'>,
  context: QueryContext,
  also: AlsoTokens = {},
): Promise<string> {
  return (await tokenInfos(records, contracts, context, also)).json(null);
}

/** Tokens with content of their own. */
type Described = ShownTokens['items' | 'collections' | 'masters'][number];

const NONE: ShownTokens = { items: [], collections: [], masters: [], wallets: [] };

/** What is known of the tokens among some accounts, with the documents that they name. */
export async function tokenInfos(
  records: readonly BookRecord[],
  contracts: Pick<ContractSource, 'tokens' | 'documents'>,
  context: QueryContext,
  { fresh = NONE, listed = [] }: AlsoTokens = {},
): Promise<TokenInfos> {
  const candidates = tokenCandidates(records, new Set(listed.map(hashKey)));
  const stored = candidates === null ? NONE : await contracts.tokens(candidates, context);
  const tokens: ShownTokens = {
    items: together(stored.items, fresh.items),
    collections: together(stored.collections, fresh.collections),
    masters: together(stored.masters, fresh.masters),
    wallets: together(stored.wallets, fresh.wallets),
  };
  const uris = urisOf(tokens);
  return createTokenInfos(tokens, uris.length === 0 ? new Map() : await contracts.documents(uris, context));
}

/** Of what both have, the fresh one. */
function together<T extends { address: Address }>(stored: readonly T[], fresh: readonly T[]): readonly T[] {
  if (fresh.length === 0) return stored;
  return [...stored.filter(({ address }) => !fresh.some((one) => one.address.equals(address))), ...fresh];
}

function urisOf({ items, collections, masters }: ShownTokens): string[] {
  return [...new Set([...items, ...collections, ...masters].flatMap((token) => uriOf(token).uri ?? []))];
}

const contentOf = (token: Described): string =>
  'jettonContent' in token
    ? token.jettonContent
    : 'collectionContent' in token
      ? token.collectionContent
      : token.content;

/** What the content names to be fetched. */
const uriOf = once((token: Described): { uri: string | undefined } => {
  const content = contentOf(token);
  return { uri: content.includes('"uri"') ? readAttributes(content).uri : undefined };
});

/** Which accounts may be tokens, by their codes; null when none of them can. */
function tokenCandidates(records: readonly BookRecord[], listed: ReadonlySet<string>): TokenCandidates | null {
  const candidates: TokenCandidates = { items: [], collections: [], masters: [], wallets: [] };
  for (const { account, codeHash, methods } of records) {
    if (codeHash === null && (listed.size === 0 || !listed.has(hashKey(account)))) continue;
    // Of code behind a library cell the methods are not known.
    for (const kind of methods === null ? KINDS : kindsWith(methods)) candidates[kind].push(account);
  }
  return KINDS.every((kind) => candidates[kind].length === 0) ? null : candidates;
}

type KindName = (typeof KINDS)[number];

/** What an account with these get-methods may be. */
const kindsWith = onceEach((methods: readonly number[]): readonly KindName[] =>
  KINDS.filter((kind) => methods.includes(METHODS[kind])),
);

export interface TokenInfos {
  /** JSON text of what is known of these accounts, and of the masters of the wallets among them; null for all there are. */
  json(accounts: readonly Address[] | null): string;
}

/** Of an address that is several things each is said: item, collection, master, wallet. */
function createTokenInfos(tokens: ShownTokens, documents: ReadonlyMap<string, TokenDocument>): TokenInfos {
  const { items, collections, masters, wallets } = tokens;
  const infos = new Map<string, Info[]>();
  const note = (info: Info): void => {
    const known = infos.get(info.address);
    if (known === undefined) infos.set(info.address, [info]);
    else known.push(info);
  };
  for (const item of items) {
    note(contentInfo('nft_items', item, documents, `,"nft_index":"${item.nftIndex ?? '0'}"`));
  }
  for (const one of collections) note(contentInfo('nft_collections', one, documents));
  for (const one of masters) note(contentInfo('jetton_masters', one, documents));
  for (const wallet of wallets) note(walletInfo(wallet));
  return {
    json(accounts) {
      const asked = accounts?.map(rawAddress) ?? [...infos.keys()];
      const shown = new Set(asked);
      for (const address of asked) for (const { master } of infos.get(address) ?? []) if (master) shown.add(master);
      const members = [...shown].sort().flatMap((address) => {
        const list = infos.get(address);
        return list === undefined ? [] : [list.length === 1 ? memberOf(list[0]) : makeMember(list)];
      });
      return `{${members.join(',')}}`;
    },
  };
}

function makeMember(infos: readonly Info[]): string {
  const indexed = infos.every((info) => info.indexed);
  return `"${infos[0].address}":{"is_indexed":${indexed},"token_info":[${infos.map(({ json }) => json).join(',')}]}`;
}

/** Most addresses are one thing: then nothing is put together anew for each answer. */
function memberOf(info: Info): string {
  info.member ??= makeMember([info]);
  return info.member;
}

/** What is said of a token. */
interface Info {
  /** As it is printed, like that of the master of a wallet. */
  address: string;
  master?: string;
  indexed: boolean;
  json: string;
  /** Of an address that is nothing else, once it was asked for. */
  member?: string;
  /** That it was made of: null where the content names none, undefined where nobody has tried to fetch it. */
  document?: TokenDocument | null | undefined;
}

const walletInfo = once((wallet: ShownTokens['wallets'][number]): Info => {
  const [address, master] = [rawAddress(wallet.address), rawAddress(wallet.jetton)];
  const extra = `{"owner":"${rawAddress(wallet.owner)}","jetton":"${master}","balance":"${wallet.balance}"}`;
  return { address, master, indexed: true, json: `{"valid":true,"type":"jetton_wallets","extra":${extra}}` };
});

/** Made anew where the document is another one by now. */
const lastInfos = new WeakMap<Described, Info>();

function contentInfo(type: string, token: Described, documents: ReadonlyMap<string, TokenDocument>, index = ''): Info {
  const { uri } = uriOf(token);
  const document = uri === undefined ? null : documents.get(uri);
  const known = lastInfos.get(token);
  if (known !== undefined && known.document === document) return known;
  const info = {
    address: rawAddress(token.address),
    document,
    ...describe(type, readAttributes(contentOf(token)), document, index),
  };
  if (isLasting(token)) lastInfos.set(token, info);
  return info;
}

const attributes = z.record(z.string(), z.string());
const members = z.record(z.string(), z.unknown());
const SHOWN = ['name', 'symbol', 'description', 'image'] as const;

/** Where others name copies of the picture that a resizing proxy serves: a document has no say in that. */
const PROXIED = new Set(['small', 'medium', 'big'].flatMap((size) => [`_image_${size}`, `_image_${size}_blur`]));

const readAttributes = (content: string): Record<string, string> => attributes.parse(JSON.parse(content));

/** An escape of `JSON.stringify`; of surrogates it escapes halves of pairs alone. */
const ESCAPE = /\\(?:(ud[89a-f][0-9a-f]{2})|.)/g;

/**
 * Halves of surrogate pairs, which JSON can name and UTF-8 cannot hold, become U+FFFD, as Go's reader makes it: for one
 * of them stricter readers refuse the whole answer.
 */
function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json;
  return json.replace(ESCAPE, (all, half: string | undefined) => (half === undefined ? all : '\ufffd'));
}

/**
 * What the chain holds, with the document that it names, once that was fetched; where both have a member, the chain's
 * counts (TEP-64, semi-chain content).
 */
function describe(
  type: string,
  onChain: Readonly<Record<string, string>>,
  document: TokenDocument | null | undefined,
  index: string,
): Pick<Info, 'indexed' | 'json'> {
  const fetched = document?.content ? members.parse(JSON.parse(wellFormed(document.content))) : {};
  const known: Record<string, unknown> = { ...fetched, ...onChain };
  const isShown = (name: string): boolean => SHOWN.some((shown) => shown === name) && typeof known[name] === 'string';
  const isOther = ([name]: [string, unknown]): boolean => !isShown(name) && !(PROXIED.has(name) && isShown('image'));
  const extra = (): string => `,"extra":${JSON.stringify(Object.fromEntries(Object.entries(known).filter(isOther)))}`;
  // The wallet kit reads the decimals of every master that is told of, also of one that is not valid or not fetched.
  const least = (): string => (type === 'jetton_masters' ? extra() : '');
  if (document === undefined) return { indexed: false, json: `{"type":"${type}"${index}${least()}}` };
  if (!isValid(type, known)) return { indexed: true, json: `{"valid":false,"type":"${type}"${index}${least()}}` };
  let text = `{"valid":true,"type":"${type}"`;
  for (const name of SHOWN) if (isShown(name)) text += `,"${name}":${JSON.stringify(known[name])}`;
  return { indexed: true, json: `${text}${index},"is_nsfw":false,"is_scam":false${extra()}}` };
}

function isValid(type: string, known: Readonly<Record<string, unknown>>): boolean {
  const has = (...names: string[]): boolean => names.some((name) => typeof known[name] === 'string');
  if (type === 'jetton_masters') return has('symbol');
  return type === 'nft_items' ? has('name', 'domain') : has('name', 'description', 'image');
}
