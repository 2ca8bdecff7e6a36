/** An emulated trace as the answer of `/api/emulate/v1`. */
import { z } from 'zod';
import { supportedTypes } from '../../chain/actions/supported.ts';
import { compareDecimal } from '../../chain/decimal.ts';
import { DecodeError } from '../../chain/errors.ts';
import { hashKey } from '../../chain/hash.ts';
import type { Address, Hash } from '../../chain/model.ts';
import type { PendingActionRecord, QueryContext, TransactionRecord } from '../../chain/records.ts';
import {
  accountLeft,
  beginningOf,
  type Emulated,
  type Emulator,
  type ReadMessage,
  readMessage,
} from '../../emulation/emulator.ts';
import { type Knowledge, traceOf } from '../../emulation/knowledge.ts';
import { actionRecords, emulatedRecord, isTold, type Whose } from '../../emulation/told.ts';
import { type AccountBefore, BLOCK_MS, NotAccepted } from '../../emulation/trace.ts';
import { stateOfProof } from '../../state/account.ts';
import { TvmError } from '../../tvm/pool.ts';
import { ApiError, Refusal } from '../errors.ts';
import type { Parameters } from '../parameters.ts';
import { type Declaration, declare } from '../route.ts';
import { running } from '../running.ts';
import { actionJson } from '../v3/render/action.ts';
import { traceTree, transactionMap } from '../v3/render/trace.ts';
import { hashJson } from '../v3/render/values.ts';
import type { Asked, Route } from '../v3/route.ts';
import * as schemas from '../v3/schemas.ts';

export interface EmulateParts {
  emulator: Emulator;
  knowledge: Knowledge;
}

const flag = (description: string) => z.boolean().default(false).meta({ type: 'boolean', description });

/** What both operations take. */
export const options = {
  with_actions: flag('Tell what the trace does.'),
  include_code_data: flag('Add the codes and data that contracts have before and behind each transaction.'),
  include_address_book: flag('Add the book of the addresses in the answer.'),
  include_metadata: flag('Add what is known of the tokens among them.'),
  mc_block_seqno: z.int().min(1).max(0xffffffff).nullish().meta({
    type: 'integer',
    description: 'Seqno of the masterchain block to emulate behind; the newest unless given.',
  }),
};

const given = z.object(options);
export type Options = z.output<typeof given>;

const cells = z.record(z.string(), z.string()).meta({ description: 'Bags of cells in base64 by their hashes.' });

export const emulated = z
  .strictObject({
    mc_block_seqno: z.int(),
    trace: schemas.traceNode,
    transactions: z.record(z.string(), schemas.transaction),
    actions: z.array(schemas.action),
    code_cells: cells,
    data_cells: cells,
    address_book: schemas.addressBook.optional(),
    metadata: schemas.metadata.optional(),
    rand_seed: z.string().meta({ description: 'What contracts drew their random numbers from: 32 bytes in base64.' }),
    is_incomplete: z.boolean().meta({ description: 'The trace is longer or deeper than is emulated.' }),
  })
  .meta({ id: 'EmulatedTrace' });

export function route<T extends Parameters>(declaration: Declaration<T, Asked>): Route {
  return declare(declaration, (issues) => {
    const reasons = issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`);
    return invalid(reasons.join('; '));
  });
}

/** Something of a request cannot be read; in the words that clients know. */
export function invalid(reason: string, options?: ErrorOptions): ApiError {
  return new ApiError(400, `invalid request: ${reason}`, options);
}

/** Whole groups of four, padded. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** @param reason what is said of what is no base64. @throws {ApiError} */
export function bytesOf(text: string, reason: string): Buffer {
  if (!BASE64.test(text)) throw invalid(`${reason}: not base64`);
  return Buffer.from(text, 'base64');
}

/** @param reason what is said of what is no message that can be emulated. @throws {ApiError} */
export function messageIn(boc: Buffer, reason: string): ReadMessage {
  try {
    return readMessage(boc);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw invalid(`${reason}: ${error.message}`, { cause: error });
  }
}

type How = Options & { ignoreSignatures: boolean; actionTypes: string };

/** Emulates a message and tells of it. @throws {ApiError} */
export async function answer(message: ReadMessage, how: How, asked: Asked, parts: EmulateParts): Promise<Buffer> {
  const { signal, timeoutMs } = asked.context;
  // The whole emulation has the time that a query of the request has.
  const time = AbortSignal.timeout(timeoutMs);
  try {
    return await emulatedAnswer(message, how, asked, parts, { signal: AbortSignal.any([signal, time]), timeoutMs });
  } catch (error) {
    if (error instanceof ApiError || !time.aborted || signal.aborted) throw error;
    // Each part of it says in words of its own that it was ended.
    throw new Refusal(500, 'the emulation took too long', { cause: error });
  }
}

async function emulatedAnswer(
  message: ReadMessage,
  how: How,
  asked: Asked,
  { emulator, knowledge }: EmulateParts,
  context: QueryContext,
): Promise<Buffer> {
  const step = await stepOf(how.mc_block_seqno ?? undefined, asked, context);
  const { ignoreSignatures } = how;
  // Behind a step that was asked for the next block comes in its own time.
  const time = how.mc_block_seqno ? { nowMs: step.header.genUtime * 1000 + BLOCK_MS } : {};
  const begin = [beginningOf(message)];
  const before = new Map<string, AccountBefore>();
  const onAccount = (address: Address, one: AccountBefore) => before.set(hashKey(address), one);
  const found = await accepted(() => emulator.run(begin, step, { ignoreSignatures, onAccount, ...time }, context));
  const whose: Whose = {
    traceId: null,
    externalHash: message.hash,
    externalHashNorm: message.hashNorm?.equals(message.hash) ? null : message.hashNorm,
    mcSeqno: step.header.seqno,
    globalVersion: found.globalVersion,
  };
  const records = found.transactions.map((one) => emulatedRecord(one, whose)).sort(inOrder);
  const actions = how.with_actions ? await actionsOf(found, whose, how.actionTypes, asked, knowledge, context) : [];
  const { book, renderings } = asked;
  const { json: tree } = traceTree(records);
  const { codes, data } = how.include_code_data ? cellsOf(found, before) : { codes: '', data: '' };
  const head = `{"mc_block_seqno":${step.header.seqno},"trace":${tree},"transactions":`;
  const shown = transactionMap(records, book, renderings);
  const fresh = how.include_metadata
    ? await running(() => knowledge.deployed(found, step.header.seqno, context.signal))
    : undefined;
  const rest =
    `,"actions":[${actions}],"code_cells":{${codes}},"data_cells":{${data}}` +
    (how.include_address_book ? `,"address_book":${await asked.addressBook()}` : '') +
    (how.include_metadata ? `,"metadata":${await asked.metadata(undefined, fresh && { fresh })}` : '') +
    `,"rand_seed":"${found.randSeed.toString('base64')}","is_incomplete":${found.isIncomplete}}`;
  return Buffer.concat([Buffer.from(head), shown, Buffer.from(rest)]);
}

export async function stepOf(seqno: number | undefined, { states }: Asked, context: QueryContext) {
  const newest = await states.step(undefined, context);
  if (seqno === undefined || seqno === newest.header.seqno) return newest;
  if (seqno > newest.header.seqno) throw new ApiError(400, 'mc block seqno is too new');
  return states.step(seqno, context);
}

/** @throws {Refusal} in the words that clients know */
async function accepted<T>(emulate: () => Promise<T>): Promise<T> {
  try {
    return await running(emulate);
  } catch (error) {
    if (error instanceof NotAccepted) {
      const code = error.exitCode ?? 0;
      throw new Refusal(500, `EmulationExternalNotAccepted: ${code}: ${error.message}`, { cause: error });
    }
    if (error instanceof TvmError) throw new Refusal(500, `EmulationFailed: ${error.message}`, { cause: error });
    throw error;
  }
}

const inOrder = ({ transaction: a }: TransactionRecord, { transaction: b }: TransactionRecord): number =>
  compareDecimal(a.lt, b.lt) || a.account.compare(b.account);

/** JSON of the actions that the client knows, the latest first. */
async function actionsOf(
  found: Emulated,
  whose: Whose,
  actionTypes: string,
  { actionsVersion, book }: Asked,
  knowledge: Knowledge,
  { signal }: QueryContext,
): Promise<string[]> {
  const { externalHash, externalHashNorm, mcSeqno } = whose;
  const text = (hash: Hash | null): string | null => hash?.toString('base64') ?? null;
  const ends = { id: null, externalHash: text(externalHash), externalHashNorm: text(externalHashNorm) };
  const trace = traceOf(
    { ...ends, mcSeqnoEnd: mcSeqno },
    found.transactions.map(({ transaction }) => transaction),
  );
  const { actions } = await running(() => knowledge.classify(trace, found, mcSeqno, signal));
  const known = supportedTypes([actionsVersion ?? actionTypes]);
  return actionRecords(actions, trace, whose, () => 'pending')
    .filter((action) => isTold(action, known))
    .sort(latestFirst)
    .map((action) => actionJson(action, book, { accounts: true }));
}

const latestFirst = (a: PendingActionRecord, b: PendingActionRecord): number =>
  compareDecimal(b.endLt, a.endLt) || compareDecimal(b.startLt, a.startLt) || a.number - b.number;

/** Members of the maps of cells that the accounts of the trace have, before it and behind each transaction. */
function cellsOf(
  { transactions }: Emulated,
  before: ReadonlyMap<string, AccountBefore>,
): { codes: string; data: string } {
  const [codes, data] = [new Map<string, Buffer>(), new Map<string, Buffer>()];
  const note = (account: Address, found: AccountBefore): void => {
    const state = stateOfProof(account, { ...found, genUtime: 0 });
    if (state.codeHash !== null && state.code !== null) codes.set(hashJson(state.codeHash), state.code);
    if (state.dataHash !== null && state.data !== null) data.set(hashJson(state.dataHash), state.data);
  };
  const accounts = new Map(transactions.map(({ transaction: { account } }) => [hashKey(account), account]));
  for (const [key, account] of accounts) {
    const found = before.get(key);
    if (found !== undefined) note(account, found);
  }
  for (const one of transactions) note(one.transaction.account, accountLeft(one));
  const members = (map: Map<string, Buffer>): string =>
    [...map].map(([hash, boc]) => `${hash}:"${boc.toString('base64')}"`).join(',');
  return { codes: members(codes), data: members(data) };
}
