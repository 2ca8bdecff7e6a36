/**
 * Contracts whose kind is known (jettons, NFTs, names, wallets of several signers, vesting), what happened to them, and
 * the questions one can ask about them. Names are those of the TON Center v3 API.
 */
import type { Address, Decimal, Hash } from './model.ts';
import type { Bounds, Page, QueryContext, Sort, TracePlace, TransactionRecord } from './records.ts';

/** The newest state of a contract while it was of its kind. */
export interface DetectedRecord {
  address: Address;
  /** Order of first detection. */
  id: Decimal;
  mcSeqno: number;
  lastTransactionLt: Decimal;
  codeHash: Hash;
  dataHash: Hash;
}

export interface JettonMasterRecord extends DetectedRecord {
  totalSupply: Decimal;
  mintable: boolean;
  adminAddress: Address | null;
  /** JSON. */
  jettonContent: string;
  jettonWalletCodeHash: Hash;
}

export interface JettonWalletRecord extends DetectedRecord {
  balance: Decimal;
  owner: Address;
  /** The master. */
  jetton: Address;
  /** Of a mintless jetton: whether the airdrop was claimed; null for other jettons. */
  mintlessIsClaimed: boolean | null;
}

export interface NftCollectionRecord extends DetectedRecord {
  nextItemIndex: Decimal;
  ownerAddress: Address | null;
  /** JSON. */
  collectionContent: string;
}

export interface NftItemRecord extends DetectedRecord {
  init: boolean;
  nftIndex: Decimal | null;
  collectionAddress: Address | null;
  ownerAddress: Address | null;
  /** JSON. */
  content: string;
}

/** An item with what belongs to it. */
export interface ListedNftItem {
  item: NftItemRecord;
  collection: NftCollectionRecord | null;
  /** The contract that owns it for its seller; null when it is not on sale. */
  sale: { kind: 'sale' | 'auction'; address: Address; seller: Address | null } | null;
}

export interface NftSaleRecord extends DetectedRecord {
  isComplete: boolean;
  createdAt: number;
  marketplace: Address | null;
  nftAddress: Address;
  nftOwner: Address | null;
  fullPrice: Decimal;
  marketplaceFeeAddress: Address | null;
  marketplaceFee: Decimal;
  royaltyAddress: Address | null;
  royaltyAmount: Decimal;
  /** Of the contracts that tell them. */
  soldAt: number | null;
  soldQueryId: Decimal | null;
  /** JSON; null where it has no prices in jettons. */
  jettonPrices: string | null;
}

export interface NftAuctionRecord extends DetectedRecord {
  endFlag: boolean;
  endTime: number;
  marketplace: Address | null;
  nftAddress: Address;
  nftOwner: Address | null;
  lastBid: Decimal;
  lastMember: Address | null;
  minStep: Decimal;
  mpFeeAddress: Address | null;
  mpFeeFactor: number;
  mpFeeBase: number;
  royaltyFeeAddress: Address | null;
  royaltyFeeFactor: number;
  royaltyFeeBase: number;
  maxBid: Decimal;
  minBid: Decimal;
  createdAt: number;
  lastBidAt: number;
  isCanceled: boolean;
  /** Of an auction in a jetton. */
  jettonWallet: Address | null;
  jettonMaster: Address | null;
}

export interface TelemintItemRecord extends DetectedRecord {
  tokenName: string;
  bidderAddress: Address | null;
  bid: Decimal;
  bidTs: number;
  minBid: Decimal;
  endTime: number;
  beneficiaryAddress: Address | null;
  initialMinBid: Decimal;
  maxBid: Decimal;
  minBidStep: Decimal;
  minExtendTime: number;
  duration: number;
  royaltyNumerator: number;
  royaltyDenominator: number;
  royaltyDestination: Address | null;
}

/** Contracts that sell items. */
export interface Sellers {
  sales: NftSaleRecord[];
  auctions: NftAuctionRecord[];
}

/** Contracts that sell, by kind, each with its item where that is known. */
export interface FoundSales extends Sellers {
  telemint: TelemintItemRecord[];
  /** By address as latin1 text. */
  items: Map<string, ListedNftItem>;
}

export interface DnsRecord extends DetectedRecord {
  domain: string;
  nftItemOwner: Address | null;
  dnsNextResolver: Address | null;
  dnsWallet: Address | null;
  dnsSiteAdnl: Hash | null;
  dnsStorageBagId: Hash | null;
}

export interface MultisigRecord extends DetectedRecord {
  nextOrderSeqno: Decimal;
  threshold: number;
  signers: Address[];
  proposers: Address[];
}

export interface MultisigOrderRecord extends DetectedRecord {
  multisigAddress: Address;
  orderSeqno: Decimal;
  threshold: number;
  sentForExecution: boolean;
  approvalsMask: Decimal;
  approvalsNum: number;
  expirationDate: Decimal;
  orderBoc: Buffer;
  signers: Address[];
}

export interface VestingRecord extends DetectedRecord {
  startTime: Decimal;
  totalDuration: number;
  unlockPeriod: number;
  cliffDuration: number;
  totalAmount: Decimal;
  senderAddress: Address;
  ownerAddress: Address;
  whitelist: Address[];
}

/** A transaction that a jetton wallet or an NFT item was told to do something by. */
export interface TokenEvent {
  transaction: TransactionRecord;
  /** The jetton's master, or the item's collection. */
  token: Address | null;
}

/** What is told of the transfers of a kind of token. */
export type TransferKind = 'jetton_transfer' | 'nft_transfer';

/** The token of a transfer, by the place of its transaction. */
export interface TransferToken {
  /** The wallet or the item. */
  account: Address;
  lt: Decimal;
  /** As {@link TokenEvent.token}. */
  token: Address | null;
}

/** A jetton wallet as a step has left it. */
export interface WalletState {
  address: Address;
  /** Of the last transaction in the step. */
  lt: Decimal;
  balance: Decimal;
  owner: Address;
  /** The master. */
  jetton: Address;
}

export interface EventFilter {
  owners: Address[];
  /** Which side the owners are on; both when absent. */
  direction?: 'in' | 'out' | undefined;
  /** Wallets, or items. */
  contracts: Address[];
  /** The jetton's master, or the item's collection. */
  token?: Address | undefined;
  utime: Bounds<number>;
  ltWindow: Bounds<Decimal>;
  sort: Sort;
  /** Only what comes behind this one, in the order asked for. */
  behind?: BehindEvent | undefined;
  page: Page;
}

/** The event behind which a page begins, whether it is there or not. */
export interface BehindEvent {
  /** Null in the order of lt. */
  utime: number | null;
  lt: Decimal;
  hash: Hash;
}

/** The row behind which a page begins, in the order of first detection. */
export interface BehindId {
  id: Decimal;
}

/** The same among the wallets of a jetton in order of balance. */
export interface BehindBalance {
  balance: Decimal;
  address: Address;
}

/** The same among the items of a collection. */
export interface BehindIndex {
  /** Null comes last. */
  nftIndex: Decimal | null;
  address: Address;
}

export interface JettonWalletFilter {
  addresses: Address[];
  owners: Address[];
  jettons: Address[];
  excludeZeroBalance: boolean;
  /** By balance; in the order of first detection when absent. */
  byBalance?: Sort | undefined;
  /** `BehindBalance` where the wallets of one jetton are asked for by balance. */
  behind?: BehindId | BehindBalance | undefined;
  /** As this step left them, one that is shown; as they are when absent. */
  at?: number | undefined;
  page: Page;
}

/** Every balance that a jetton wallet has had. */
export interface JettonBalanceFilter {
  wallet: Address;
  ltWindow: Bounds<Decimal>;
  sort: Sort;
  limit: number;
}

/** What a wallet had once a step was done. */
export interface JettonBalanceRecord {
  mcSeqno: number;
  /** Of the wallet's last transaction in the step. */
  lt: Decimal;
  balance: Decimal;
}

export interface JettonMasterFilter {
  addresses: Address[];
  admins: Address[];
  behind?: BehindId | undefined;
  page: Page;
}

export interface NftCollectionFilter {
  addresses: Address[];
  owners: Address[];
  behind?: BehindId | undefined;
  page: Page;
}

/** By one of the two. */
export interface DnsFilter {
  /** To which names lead. */
  wallet?: Address | undefined;
  /** The whole name. */
  domain?: string | undefined;
  page: Page;
}

export interface NftItemFilter {
  addresses: Address[];
  owners: Address[];
  collections: Address[];
  indexes: Decimal[];
  /** The owners are those of items on sale, too. */
  includeOnSale: boolean;
  byLastTransaction: boolean;
  /** `BehindIndex` where the items of one collection are asked for. */
  behind?: BehindId | BehindIndex | undefined;
  /** As {@link JettonWalletFilter.at}, with their collections and who sells them. */
  at?: number | undefined;
  page: Page;
}

/** Tokens among some addresses. */
export interface Tokens {
  items: NftItemRecord[];
  collections: NftCollectionRecord[];
  masters: JettonMasterRecord[];
  wallets: JettonWalletRecord[];
}

/** Which kinds an address may be of. */
/** What was fetched under a URI. */
export interface TokenDocument {
  /** JSON of an object; null where there is no such document. */
  content: string | null;
}

/** What is shown of tokens beside the addresses of an answer. */
export interface ShownTokens {
  items: readonly Pick<NftItemRecord, 'address' | 'nftIndex' | 'content'>[];
  collections: readonly Pick<NftCollectionRecord, 'address' | 'collectionContent'>[];
  masters: readonly Pick<JettonMasterRecord, 'address' | 'jettonContent'>[];
  wallets: readonly Pick<JettonWalletRecord, 'address' | 'owner' | 'jetton' | 'balance'>[];
}

export interface TokenCandidates {
  items: Address[];
  collections: Address[];
  masters: Address[];
  wallets: Address[];
}

export interface ContractSource {
  /** The shortest name that belongs to the account and leads to it; null when there is none. */
  domainOf(account: Address): string | null;
  jettonMasters(filter: JettonMasterFilter, context: QueryContext): Promise<JettonMasterRecord[]>;
  jettonWallets(filter: JettonWalletFilter, context: QueryContext): Promise<JettonWalletRecord[]>;
  /** Places of the wallets of a jetton that have most, the greatest balance first, equal ones by address downwards. */
  jettonHolders(jetton: Address, most: number, context: QueryContext): Promise<BehindBalance[]>;
  jettonBalances(filter: JettonBalanceFilter, context: QueryContext): Promise<JettonBalanceRecord[]>;
  /** Those whose transaction was not aborted. */
  jettonTransfers(filter: EventFilter, context: QueryContext): Promise<TokenEvent[]>;
  jettonBurns(filter: EventFilter, context: QueryContext): Promise<TokenEvent[]>;
  /** Which of these transactions are transfers of verified wallets or items, in no order. Aborted ones are among them. */
  transferTokens(kind: TransferKind, places: readonly TracePlace[], context: QueryContext): Promise<TransferToken[]>;
  /** Those of these accounts that were verified jetton wallets when the step had left them so, in no order. */
  walletsAt(places: readonly TracePlace[], context: QueryContext): Promise<WalletState[]>;
  nftCollections(filter: NftCollectionFilter, context: QueryContext): Promise<NftCollectionRecord[]>;
  nftItems(filter: NftItemFilter, context: QueryContext): Promise<ListedNftItem[]>;
  nftTransfers(filter: EventFilter, context: QueryContext): Promise<TokenEvent[]>;
  nftSales(addresses: Address[], context: QueryContext): Promise<FoundSales>;
  /** The sales and auctions among these addresses, in no order. */
  sellers(addresses: readonly Address[], context: QueryContext): Promise<Sellers>;
  dnsRecords(filter: DnsFilter, context: QueryContext): Promise<DnsRecord[]>;
  multisigWallets(
    filter: { addresses: Address[]; members: Address[]; sort: Sort; page: Page },
    context: QueryContext,
  ): Promise<MultisigRecord[]>;
  multisigOrders(
    filter: { addresses: Address[]; multisigs: Address[]; sort: Sort; page: Page | null },
    context: QueryContext,
  ): Promise<MultisigOrderRecord[]>;
  vestingContracts(
    filter: { addresses: Address[]; members: Address[]; checkWhitelist: boolean; page: Page },
    context: QueryContext,
  ): Promise<VestingRecord[]>;
  tokens(candidates: TokenCandidates, context: QueryContext): Promise<Tokens>;
  /** Documents that content names by URI, as they were fetched last; those that were not are left out. */
  documents(uris: readonly string[], context: QueryContext): Promise<Map<string, TokenDocument>>;
}
