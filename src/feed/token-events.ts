/** What happened to jettons and NFTs in a step: states of wallets, transfers. */
import type { ChainSource } from '../chain/chain-source.ts';
import type { ContractSource, TransferKind, TransferToken, WalletState } from '../chain/contract-records.ts';
import { DecodeError } from '../chain/errors.ts';
import { hashKey } from '../chain/hash.ts';
import { CellView } from '../chain/layouts/cell-view.ts';
import { jettonTransfer } from '../chain/layouts/jettons.ts';
import { nftTransfer } from '../chain/layouts/nfts.ts';
import type { Message } from '../chain/model.ts';
import type { QueryContext, TracePlace, TransactionRecord } from '../chain/records.ts';
import { RANKS, type StateEvent, type TransferEvent, type WalletEvent } from './events.ts';
import { type Together, together } from './together.ts';

/** Places in one question. */
const ASKED_AT_ONCE = 500;

export type WalletStates = Together<TracePlace, WalletState>;

/** What jetton wallets were after transactions; of other accounts there is nothing. */
export function walletStates(source: Pick<ChainSource, 'contracts'>): WalletStates {
  return together(
    (places, context) => source.contracts.walletsAt(places, context),
    ({ address, lt }) => keyOf({ account: address, lt }),
  );
}

/** The wallets among the accounts whose states a step has changed. */
export async function walletEvents(
  states: readonly StateEvent[],
  ask: WalletStates,
  context: QueryContext,
): Promise<WalletEvent[]> {
  const places = states.filter(({ state }) => state.codeHash !== null).map(({ record }) => placeOf(record));
  const wallets = await ask(places, context);
  return states.flatMap((event): WalletEvent[] => {
    const { record, state, place, subject } = event;
    const wallet = wallets.get(keyOf(record.transaction));
    if (wallet === undefined) return [];
    return [
      { type: 'jettons_change', place: { ...place, rank: RANKS.jettons_change }, subject, record, state, wallet },
    ];
  });
}

/**
 * The transfers of verified wallets and items among the transactions of a step; of jettons those that were not aborted.
 * @param records of one step, by lt and account
 */
export async function transferEvents(
  kind: TransferKind,
  mcSeqno: number,
  records: readonly TransactionRecord[],
  contracts: Pick<ContractSource, 'transferTokens'>,
  context: QueryContext,
): Promise<TransferEvent[]> {
  const asked = records.flatMap((record, index) => {
    const told = toldIn(kind, record);
    return told === null ? [] : [{ record, index, told }];
  });
  const places = asked.map(({ record }) => placeOf(record));
  const found = await inParts(places, (part) => contracts.transferTokens(kind, part, context));
  const tokens = new Map(found.map((one): [string, TransferToken] => [keyOf(one), one]));
  return asked.flatMap(({ record, index, told }): TransferEvent[] => {
    const { transaction } = record;
    const token = tokens.get(keyOf(transaction));
    if (token === undefined) return [];
    const place = { mcSeqno, index, rank: RANKS[kind] };
    return [{ type: kind, place, subject: () => [transaction.hash], record, token: token.token, ...told }];
  });
}

type ToldTransfer = Pick<TransferEvent, 'from' | 'to' | 'amount' | 'response'>;

/** What a transaction may be told to transfer; null when it is told something else. */
function toldIn(kind: TransferKind, { transaction: { inMsg, description } }: TransactionRecord): ToldTransfer | null {
  if (inMsg === null || inMsg.opcode !== OPCODES[kind]) return null;
  if (kind === 'jetton_transfer' && description.aborted) return null;
  try {
    return READERS[kind](inMsg);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

const OPCODES: Readonly<Record<TransferKind, number>> = {
  jetton_transfer: jettonTransfer.opcode,
  nft_transfer: nftTransfer.opcode,
};

const READERS: Readonly<Record<TransferKind, (message: Message) => ToldTransfer | null>> = {
  jetton_transfer(message) {
    const body = jettonTransfer.in(CellView.parse(message.bodyBoc()));
    if (body === null) return null;
    const { destination: to, amount, response_destination: response } = body;
    return { from: message.source, to, amount, response };
  },
  nft_transfer(message) {
    const body = nftTransfer.in(CellView.parse(message.bodyBoc()));
    if (body === null) return null;
    return { from: message.source, to: body.new_owner, amount: null, response: body.response_destination };
  },
};

function placeOf({ transaction: { account, lt }, mcSeqno }: TransactionRecord): TracePlace {
  return { account, lt, mcSeqno };
}

const keyOf = ({ account, lt }: Pick<TransferToken, 'account' | 'lt'>): string => `${hashKey(account)}${lt}`;

async function inParts<T>(
  places: readonly TracePlace[],
  ask: (part: readonly TracePlace[]) => Promise<T[]>,
): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < places.length; at += ASKED_AT_ONCE)
    found.push(...(await ask(places.slice(at, at + ASKED_AT_ONCE))));
  return found;
}
