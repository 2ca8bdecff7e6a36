import { z } from 'zod';
import { CellView } from '../layouts/cell-view.ts';
import type { KnownContracts } from './known.ts';
import type { Trace, TraceMessage, TraceTransaction } from './trace.ts';

/*
 * Traces as files (format 1): a trace with its transactions and messages, and what may be known of contracts besides
 * it. Numbers of 64 bits are decimal strings, hashes and bags of cells base64, addresses raw.
 */

const decimal = z.string().regex(/^\d{1,78}$/);
/** Where a file leaves it open: as of what is not for sale. */
const price = decimal.nullish().transform((told) => told ?? '0');
const address = z.string().regex(/^-?\d+:[0-9A-F]{64}$/);
const hash = z.string().regex(/^[A-Za-z0-9+/]{43}=$/);
const status = z.enum(['nonexist', 'uninit', 'active', 'frozen']);

const message = z.object({
  hash,
  source: address.nullable(),
  destination: address.nullable(),
  value: decimal.nullable(),
  value_extra_currencies: z.record(z.string(), decimal).nullish(),
  created_lt: decimal.nullable(),
  created_at: z.number().int().nullable(),
  opcode: z
    .string()
    .regex(/^0x[0-9a-f]{8}$/)
    .nullable(),
  bounce: z.boolean().nullable(),
  body: z.base64(),
  init_state: z.base64().nullish(),
});

const transaction = z.object({
  hash,
  account: address,
  lt: decimal,
  now: z.number().int(),
  orig_status: status,
  end_status: status,
  aborted: z.boolean().nullable(),
  skipped_reason: z.string().nullable(),
  compute_exit_code: z.number().int().nullable(),
  in_msg: message.nullable(),
  out_msgs: z.array(message),
});

/** Columns of a contract that was not read to its end are null. */
const context = z.object({
  jetton_wallets: z.record(address, z.object({ owner: address.nullable(), jetton: address.nullable() })).default({}),
  nft_items: z
    .record(
      address,
      z.object({
        index: decimal.nullable(),
        collection_address: address.nullable(),
        content: z.object({ uri: z.string().nullish() }).nullish(),
        code_hash: z.string().nullish(),
      }),
    )
    .default({}),
  nft_sales: z
    .record(
      address,
      z.object({
        nft_address: address.nullable(),
        nft_owner_address: address.nullable(),
        marketplace_address: address.nullable(),
        full_price: price,
        code_hash: z.string().nullish(),
      }),
    )
    .default({}),
  nft_auctions: z
    .record(
      address,
      z.object({
        nft_addr: address.nullable(),
        nft_owner: address.nullable(),
        mp_addr: address.nullable(),
        last_bid: price,
        code_hash: z.string().nullish(),
      }),
    )
    .default({}),
  multisig_orders: z.record(address, z.object({ signers: z.array(address).nullable() })).default({}),
  dedust_pools: z
    .record(
      address,
      z.object({
        assets: z.tuple([
          z.object({ is_ton: z.boolean(), address: address.nullable() }),
          z.object({ is_ton: z.boolean(), address: address.nullable() }),
        ]),
      }),
    )
    .default({}),
  nominator_pools: z.record(address, z.unknown()).default({}),
  account_data: z.record(address, z.object({ data_boc: z.base64() })).default({}),
});

const file = z.object({
  format: z.literal(1),
  name: z.string(),
  trace: z.object({
    trace_id: hash.nullable(),
    external_hash: hash.nullable(),
    mc_seqno_end: z.number().int(),
    end_lt: decimal,
    end_utime: z.number().int(),
  }),
  transactions: z.array(transaction),
  context,
});

type FileContext = z.infer<typeof context>;

/** A trace of a file, with what the file knows of contracts. */
export interface TraceFile {
  name: string;
  trace: Trace;
  known: KnownContracts;
}

/**
 * Takes a trace file apart. Bags of cells are opened when a body is read.
 * @param json the parsed text
 * @throws ZodError when it is not of the format
 */
export function readTraceFile(json: unknown): TraceFile {
  const { name, trace, transactions, context } = file.parse(json);
  return {
    name,
    trace: {
      id: trace.trace_id,
      externalHash: trace.external_hash,
      externalHashNorm: null,
      mcSeqnoEnd: trace.mc_seqno_end,
      endLt: trace.end_lt,
      endUtime: trace.end_utime,
      transactions: transactions.map(readTransaction),
    },
    known: readContext(context),
  };
}

function readTransaction(from: z.infer<typeof transaction>): TraceTransaction {
  return {
    hash: from.hash,
    account: from.account,
    lt: from.lt,
    now: from.now,
    origStatus: from.orig_status,
    endStatus: from.end_status,
    aborted: from.aborted === true,
    skipReason: from.skipped_reason,
    exitCode: from.compute_exit_code,
    inMsg: from.in_msg === null ? null : readMessage(from.in_msg),
    outMsgs: from.out_msgs.map(readMessage),
  };
}

function readMessage(from: z.infer<typeof message>): TraceMessage {
  const { init_state: init } = from;
  return {
    hash: from.hash,
    source: from.source,
    destination: from.destination,
    value: from.value,
    extraCurrencies: from.value_extra_currencies ?? {},
    createdLt: from.created_lt,
    createdAt: from.created_at,
    opcode: from.opcode === null ? null : Number(from.opcode),
    bounce: from.bounce,
    body: () => CellView.parse(Buffer.from(from.body, 'base64')),
    init: () => (typeof init === 'string' ? CellView.parse(Buffer.from(init, 'base64')) : null),
  };
}

function readContext(from: FileContext): KnownContracts {
  const wallets = table(from.jetton_wallets, ({ owner, jetton }) =>
    owner === null || jetton === null ? undefined : { owner, jetton },
  );
  const items = table(from.nft_items, ({ index, collection_address, content, code_hash }) => ({
    index,
    collection: collection_address,
    uri: content?.uri ?? null,
    codeHash: code_hash ?? null,
  }));
  const sales = table(from.nft_sales, ({ nft_address: nft, ...sale }) =>
    nft === null
      ? undefined
      : {
          nft,
          owner: sale.nft_owner_address,
          marketplace: sale.marketplace_address,
          fullPrice: sale.full_price,
          codeHash: sale.code_hash ?? null,
        },
  );
  const auctions = table(from.nft_auctions, ({ nft_addr: nft, ...auction }) =>
    nft === null
      ? undefined
      : {
          nft,
          owner: auction.nft_owner,
          marketplace: auction.mp_addr,
          lastBid: auction.last_bid,
          codeHash: auction.code_hash ?? null,
        },
  );
  const orders = table(from.multisig_orders, ({ signers }) => ({ signers: signers ?? [] }));
  const pools = table(from.dedust_pools, ({ assets: [first, second] }) => ({
    assets: [assetOf(first), assetOf(second)] as const,
  }));
  const data = table(from.account_data, ({ data_boc }) => CellView.parse(Buffer.from(data_boc, 'base64')));
  return {
    jettonWallet: (address) => wallets.get(address),
    nftItem: (address) => items.get(address),
    nftSale: (address) => sales.get(address),
    nftAuction: (address) => auctions.get(address),
    multisigOrder: (address) => orders.get(address),
    dedustPool: (address) => pools.get(address),
    isNominatorPool: (address) => Object.hasOwn(from.nominator_pools, address),
    data: (address) => data.get(address),
  };
}

function table<From, To>(rows: Record<string, From>, read: (row: From) => To): Map<string, To> {
  return new Map(Object.entries(rows).map(([address, row]) => [address, read(row)]));
}

function assetOf({ is_ton, address }: { is_ton: boolean; address: string | null }): string | null {
  return is_ton ? null : address;
}
