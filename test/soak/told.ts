/** What the feed must tell of the steps of a log under a filter: in words of its own, from nothing but the blocks. */
import { createHash } from 'node:crypto';
import type { Message, Transaction } from '../../src/chain/model.ts';
import type { DecodedBlock } from '../../streams/project/decode.ts';

/** Of one step. */
export interface ToldStep {
  mcSeqno: number;
  told: readonly Told[];
}

const TYPES = ['transactions', 'message', 'external_out', 'block'] as const;

interface Told {
  type: (typeof TYPES)[number];
  id: string;
  workchain: number;
  /** Raw bytes in hex: of the account, and of who sent it the message. */
  own: string;
  source: string | null;
  opcode: number | null;
  value: bigint | null;
  received: boolean;
  sent: boolean;
}

/** A subscription as it goes over the wire, of those that this file knows. */
export interface Wanted {
  types: readonly Told['type'][];
  everything?: boolean;
  /** Hex of raw bytes; given to the service in its own form. */
  accounts?: readonly string[];
  workchain?: number;
  opcodes?: readonly number[];
  minValue?: bigint;
  direction?: 'in' | 'out';
}

export const isKnown = (type: unknown): boolean => TYPES.some((known) => known === type);

export function toldOf(mcSeqno: number, blocks: readonly DecodedBlock[]): ToldStep {
  const told = blocks.flatMap(({ record: { header }, transactions }): Told[] => [
    ...transactions.flatMap((transaction) => ofTransaction(transaction, header.workchain)),
    {
      ...{ type: 'block', id: idOf('block', header.rootHash), workchain: header.workchain, own: '', source: null },
      ...{ opcode: null, value: null, received: false, sent: false },
    },
  ]);
  return { mcSeqno, told };
}

function ofTransaction(transaction: Transaction, workchain: number): Told[] {
  const { account, hash, inMsg, outMsgs } = transaction;
  const own = account.toString('hex');
  const flow = { received: inMsg !== null, sent: outMsgs.length > 0 };
  const of = (message: Message | null) => ({
    source: message?.source?.toString('hex') ?? null,
    opcode: message?.opcode ?? null,
    value: message?.value == null ? null : BigInt(message.value),
  });
  const left = outMsgs.filter(({ kind }) => kind === 'external_out');
  return [
    ...(inMsg === null
      ? []
      : [{ type: 'message' as const, id: idOf('message', inMsg.hash, hash), workchain, own, ...of(inMsg), ...flow }]),
    { type: 'transactions', id: idOf('transactions', hash), workchain, own, ...of(inMsg), ...flow },
    ...left.map((message) => {
      const id = idOf('external_out', message.hash, hash);
      return { type: 'external_out' as const, id, workchain, own, ...of(message), ...flow };
    }),
  ];
}

/** First half of the SHA-256 of the type, the level and the hashes of what it is about. */
function idOf(type: Told['type'], ...hashes: Buffer[]): string {
  const all = Buffer.concat([Buffer.from(`${type} finalized `), ...hashes]);
  return createHash('sha256').update(all).digest().subarray(0, 16).toString('base64url');
}

/** Ids of the events of a step that the subscription hears. */
export function heardIn({ told }: ToldStep, wanted: Wanted): string[] {
  return told.filter((one) => isHeard(one, wanted)).map(({ id }) => id);
}

function isHeard(one: Told, { types, everything, accounts = [], workchain, opcodes, minValue, direction }: Wanted) {
  if (!types.includes(one.type)) return false;
  if (workchain !== undefined && one.workchain !== workchain) return false;
  if (opcodes !== undefined && !(one.opcode !== null && opcodes.includes(one.opcode))) return false;
  if (minValue !== undefined && !(one.value !== null && one.value >= minValue)) return false;
  if (one.type === 'block') return true;
  const asReceiver = everything === true || accounts.includes(one.own);
  const isMessage = one.type === 'message';
  const asSender = isMessage && one.source !== null && (everything === true || accounts.includes(one.source));
  if (direction === undefined) return asReceiver || asSender;
  if (isMessage) return direction === 'in' ? asReceiver : asSender && one.source !== one.own;
  if (one.type === 'external_out') return asReceiver && direction === 'out';
  return asReceiver && (direction === 'in' ? one.received : one.sent);
}
