import { createHash } from 'node:crypto';
import type { KnownContracts } from '../src/chain/actions/known.ts';
import type { Trace, TraceMessage, TraceTransaction } from '../src/chain/actions/trace.ts';
import { rawAddress } from '../src/chain/address.ts';
import { Builder, type Cell } from '../src/chain/builder.ts';
import { CellView } from '../src/chain/layouts/cell-view.ts';
import type { Codec } from '../src/chain/layouts/codec.ts';
import type { AccountStatus, Address, ExtraCurrencies } from '../src/chain/model.ts';

/** A message, and what its receiver sent when it came. */
export interface Sent {
  /** Name of the receiver; null for a log. */
  to: string | null;
  body?: Cell | undefined;
  value?: string;
  extra?: ExtraCurrencies;
  init?: Cell;
  bounce?: boolean;
  aborted?: boolean;
  exitCode?: number;
  from?: AccountStatus;
  status?: AccountStatus;
  sends?: readonly Sent[];
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The account that a test calls by a name, as bytes. */
export function accountBytes(name: string): Address {
  return Buffer.concat([Buffer.from('80000000', 'hex'), digest(`account ${name}`)]);
}

/** The account that a test calls by a name. */
export function account(name: string): string {
  return rawAddress(accountBytes(name));
}

/** A body of 32 bits. */
export function op(opcode: number): Cell {
  return new Builder().u(opcode, 32).cell();
}

/** A body, written by its layout. */
export function written<T>(layout: Codec<T>, value: T): Cell {
  const builder = new Builder();
  layout.write(builder, value);
  return builder.cell();
}

export function comment(text: string): Cell {
  return new Builder().u(0, 32).bytes(Buffer.from(text)).cell();
}

/**
 * A trace out of nothing: hashes are digests of running numbers, every message takes a second and a thousand lt.
 * @param root its sender is nobody: an external message
 */
export function madeTrace(root: Sent): Trace {
  const transactions: TraceTransaction[] = [];
  let count = 0;
  const hash = (of: string): string => digest(`${of} ${count}`).toString('base64');
  const message = (sent: Sent, source: string | null, lt: number): TraceMessage => ({
    hash: hash('message'),
    source,
    destination: sent.to === null ? null : account(sent.to),
    value: source === null ? null : (sent.value ?? '1000000000'),
    extraCurrencies: sent.extra ?? {},
    createdLt: source === null ? null : String(lt),
    createdAt: source === null ? null : 1_700_000_000 + count,
    opcode: sent.body === undefined ? null : CellView.from(sent.body).opcode,
    bounce: source === null ? null : (sent.bounce ?? true),
    body: () => CellView.from(sent.body ?? new Builder().cell()),
    init: () => (sent.init === undefined ? null : CellView.from(sent.init)),
  });
  const receive = (sent: Sent, inMsg: TraceMessage): void => {
    count++;
    const outMsgs: TraceMessage[] = [];
    const lt = 1000 * count;
    const { destination } = inMsg;
    if (destination === null) return;
    transactions.push({
      hash: hash('transaction'),
      account: destination,
      lt: String(lt),
      now: 1_700_000_000 + count,
      origStatus: sent.from ?? 'active',
      endStatus: sent.status ?? 'active',
      aborted: sent.aborted ?? false,
      skipReason: null,
      exitCode: sent.exitCode ?? 0,
      inMsg,
      outMsgs,
    });
    (sent.sends ?? []).forEach((next, i) => {
      count++;
      const out = message(next, destination, lt + 1 + i);
      outMsgs.push(out);
      receive(next, out);
    });
  };
  receive(root, message(root, null, 0));
  return {
    id: transactions[0].hash,
    externalHash: transactions[0].inMsg?.hash ?? null,
    externalHashNorm: null,
    mcSeqnoEnd: 1,
    endLt: String(1000 * count),
    endUtime: 1_700_000_000 + count,
    transactions,
  };
}

const nothing: KnownContracts = {
  jettonWallet: () => undefined,
  nftItem: () => undefined,
  nftSale: () => undefined,
  nftAuction: () => undefined,
  multisigOrder: () => undefined,
  dedustPool: () => undefined,
  isNominatorPool: () => false,
  data: () => undefined,
};

/** What is known besides a made trace: nothing but what is given. */
export function knowing(known: Partial<KnownContracts> = {}): KnownContracts {
  return { ...nothing, ...known };
}
