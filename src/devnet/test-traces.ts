/** Cuts what a chain did into traces, as the classifier takes them, for tests. */
import { type Account, Address, Cell, loadAccount } from '@ton/core';
import { blockTransactions } from '../chain/accounts.ts';
import { classify } from '../chain/actions/classify.ts';
import type { KnownContracts } from '../chain/actions/known.ts';
import type { RawAddress, Trace, TraceMessage, TraceTransaction } from '../chain/actions/trace.ts';
import { rawAddress } from '../chain/address.ts';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { toBoc } from '../chain/builder.ts';
import { CellView } from '../chain/layouts/cell-view.ts';
import type { Message, Transaction } from '../chain/model.ts';
import { domainItemCode, readDomain } from './contracts/domains.ts';
import { jettonWalletCode, readJettonWallet } from './contracts/jettons.ts';
import { nftAuctionCode, nftSaleCode, readNftAuction, readNftSale } from './contracts/market.ts';
import { multisigOrderCode, readMultisigOrder } from './contracts/multisig.ts';
import { nftItemCode, readNftItem } from './contracts/nfts.ts';
import type { Chain, ProducedStep } from './model.ts';

/** Contracts as they were when they were last there. */
export interface Contracts {
  readonly known: KnownContracts;
  /** After a step: looks at the accounts that it changed. */
  look(accounts: Iterable<RawAddress>): void;
}

type Found<K extends keyof KnownContracts> = Map<
  RawAddress,
  NonNullable<ReturnType<Extract<KnownContracts[K], (address: RawAddress) => unknown>>>
>;

const raw = (address: Address): RawAddress => `${address.workChain}:${address.hash.toString('hex').toUpperCase()}`;

/** Knows contracts of the devnet by their code. */
export function createContracts(chain: Chain): Contracts {
  const wallets: Found<'jettonWallet'> = new Map();
  const items: Found<'nftItem'> = new Map();
  const sales: Found<'nftSale'> = new Map();
  const auctions: Found<'nftAuction'> = new Map();
  const orders: Found<'multisigOrder'> = new Map();
  const readers = new Map<string, (at: RawAddress, data: Cell, codeHash: string) => void>([
    [
      hashOf(jettonWalletCode),
      (at, data) => {
        const { owner, master } = readJettonWallet(data);
        wallets.set(at, { owner: raw(owner), jetton: raw(master) });
      },
    ],
    [
      hashOf(nftItemCode),
      (at, data, codeHash) => {
        const item = readNftItem(data);
        if (item === null) return;
        items.set(at, { index: String(item.index), collection: raw(item.collection), uri: null, codeHash });
      },
    ],
    [
      hashOf(domainItemCode),
      (at, data, codeHash) => {
        const item = readDomain(data);
        if (item === null) return;
        items.set(at, { index: String(item.index), collection: raw(item.collection), uri: null, codeHash });
      },
    ],
    [
      hashOf(nftSaleCode),
      (at, data, codeHash) => {
        const { item, owner, marketplace, fullPrice } = readNftSale(data);
        const common = { nft: raw(item), owner: raw(owner), marketplace: raw(marketplace), codeHash };
        sales.set(at, { ...common, fullPrice: String(fullPrice) });
      },
    ],
    [
      hashOf(nftAuctionCode),
      (at, data, codeHash) => {
        const { item, owner, marketplace, lastBid } = readNftAuction(data);
        const common = { nft: raw(item), owner: raw(owner), marketplace: raw(marketplace), codeHash };
        auctions.set(at, { ...common, lastBid: String(lastBid) });
      },
    ],
    [
      hashOf(multisigOrderCode),
      (at, data) => {
        const order = readMultisigOrder(data);
        if (order !== null) orders.set(at, { signers: order.signers.map(raw) });
      },
    ],
  ]);
  return {
    known: {
      jettonWallet: (at) => wallets.get(at),
      nftItem: (at) => items.get(at),
      nftSale: (at) => sales.get(at),
      nftAuction: (at) => auctions.get(at),
      multisigOrder: (at) => orders.get(at),
      dedustPool: () => undefined,
      isNominatorPool: () => false,
      data: () => undefined,
    },
    look(accounts) {
      for (const at of accounts) {
        const state = accountAt(chain, at)?.storage.state;
        if (state?.type !== 'active' || !state.state.code || !state.state.data) continue;
        const codeHash = hashOf(state.state.code);
        readers.get(codeHash)?.(at, state.state.data, codeHash);
      }
    },
  };
}

const hashOf = (cell: Cell): string => cell.hash().toString('base64');

function accountAt(chain: Chain, at: RawAddress): Account | null {
  const { workChain, hash } = Address.parse(at);
  const found = chain.account(workChain, hash);
  return found === null ? null : loadAccount(Cell.fromBoc(toBoc(found.account))[0].beginParse().skip(1));
}

/** Transactions of a step's blocks. */
export function transactionsOf({ mc, shards }: ProducedStep): Transaction[] {
  return [mc, ...shards].flatMap(({ bytes }) => [...blockTransactions(decodeBlock(openBoc(bytes)))]);
}

interface OpenTrace {
  root: TraceTransaction;
  transactions: TraceTransaction[];
  open: number;
}

/** A trace that is complete, and how it is told. */
export interface ToldTrace {
  trace: Trace;
  told: ReturnType<typeof classify>;
}

/** Takes step after step of a chain; gives the traces that a step completed, classified as of its end. */
export function createTeller(chain: Chain): { take(step: ProducedStep): ToldTrace[]; open(): number } {
  const contracts = createContracts(chain);
  const edges = new Map<string, OpenTrace>();

  function join(transaction: TraceTransaction): OpenTrace {
    const edge = transaction.inMsg === null ? undefined : edges.get(transaction.inMsg.hash);
    const trace = edge ?? { root: transaction, transactions: [], open: 0 };
    if (edge !== undefined && transaction.inMsg !== null) {
      edges.delete(transaction.inMsg.hash);
      trace.open--;
    }
    trace.transactions.push(transaction);
    for (const { hash, destination } of transaction.outMsgs) {
      if (destination === null) continue;
      edges.set(hash, trace);
      trace.open++;
    }
    return trace;
  }

  return {
    take(step) {
      const transactions = transactionsOf(step).sort((a, b) => (BigInt(a.lt) < BigInt(b.lt) ? -1 : 1));
      const touched = new Set(transactions.map((one) => join(readTransaction(one))));
      contracts.look(new Set(transactions.map(({ account }) => rawAddress(account))));
      return [...touched]
        .filter(({ open }) => open === 0)
        .map((one) => {
          const trace = closed(one, step.mc.seqno);
          return { trace, told: classify(trace, contracts.known) };
        });
    },
    open: () => edges.size,
  };
}

function closed({ root, transactions }: OpenTrace, mcSeqnoEnd: number): Trace {
  const last = transactions[transactions.length - 1];
  return {
    id: root.hash,
    externalHash: root.inMsg?.hash ?? null,
    externalHashNorm: null,
    mcSeqnoEnd,
    endLt: last.lt,
    endUtime: last.now,
    transactions,
  };
}

function readTransaction(from: Transaction): TraceTransaction {
  const { compute } = from.description;
  return {
    hash: from.hash.toString('base64'),
    account: rawAddress(from.account),
    lt: from.lt,
    now: from.now,
    origStatus: from.origStatus,
    endStatus: from.endStatus,
    aborted: from.description.aborted === true,
    skipReason: compute?.skipped === true ? compute.reason : null,
    exitCode: compute?.skipped === false ? compute.exitCode : null,
    inMsg: from.inMsg === null ? null : readMessage(from.inMsg),
    outMsgs: from.outMsgs.map(readMessage),
  };
}

function readMessage(from: Message): TraceMessage {
  return {
    hash: from.hash.toString('base64'),
    source: from.source === null ? null : rawAddress(from.source),
    destination: from.destination === null ? null : rawAddress(from.destination),
    value: from.value,
    extraCurrencies: from.extraCurrencies ?? {},
    createdLt: from.createdLt,
    createdAt: from.createdAt,
    opcode: from.opcode,
    bounce: from.bounce,
    body: () => CellView.parse(from.bodyBoc()),
    init: () => (from.init === null ? null : CellView.parse(from.init.boc())),
  };
}
