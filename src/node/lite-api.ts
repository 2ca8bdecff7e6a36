import type { BlockId, BlockIdExt, Hash, Shard } from '../chain/model.ts';
import { envelopeFunctions, liteFunctions, liteTypes } from './lite-schema.ts';
import type { EnvelopeCalls, LiteCalls, LiteValues } from './lite-types.ts';
import { createTl, TlError } from './tl.ts';

const lite = createTl<LiteValues, LiteCalls>(liteTypes, liteFunctions);
const envelope = createTl<Record<never, never>, EnvelopeCalls>([], envelopeFunctions);

type Short<Name extends string> = Name extends `liteServer.${infer Rest}` ? Rest : never;

/** Names of the calls without their namespace: `getBlock`, `nonfinal.getPendingShardBlocks`. */
export type LiteMethod = Short<keyof LiteCalls>;
/** Arguments of a call: `long` as bigint, hashes and byte strings as Buffers. */
export type LiteFields<M extends LiteMethod> = LiteCalls[`liteServer.${M}`]['fields'];
/** A call: `{ method: 'getBlock', id }`. */
export type LiteRequest<M extends LiteMethod = LiteMethod> = { method: M } & LiteFields<M>;
/** Any call, told apart by `method`. */
export type AnyLiteRequest = { [M in LiteMethod]: LiteRequest<M> }[LiteMethod];
/** What a server answers to a call. */
export type LiteAnswer<M extends LiteMethod> = LiteCalls[`liteServer.${M}`]['answer'];
/** `tonNode.blockIdExt` as decoded: the shard is a signed 64-bit number. */
export type TlBlockIdExt = LiteValues['tonNode.blockIdExt'];
export type TlBlockId = LiteValues['tonNode.blockId'];
/** Mode of a search for a block by its seqno. */
export const BY_SEQNO = 1;

/** Ordinary and Simplex signature sets, told apart by `kind`. */
export type TlSignatureSet = LiteValues['liteServer.blockLinkForward']['signatures'];
export type TlBlockLink = LiteValues['liteServer.partialBlockProof']['steps'][number];

/** `liteServer.error`: what a server answers in place of an answer. The codes are those of the node. */
export class LiteServerError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
    this.name = 'LiteServerError';
  }
}

/** Codes a node sends (`ton/ton-types.h`, enum ErrorCode). */
export const LITE_ERROR = {
  failure: 601,
  error: 602,
  warning: 603,
  protocolViolation: 621,
  notReady: 651,
  timeout: 652,
  cancelled: 653,
} as const;

/** The prefix that holds a call back until a server has a masterchain block. */
export interface WaitPrefix {
  seqno: number;
  timeoutMs: number;
}

/** Characters of a server's reason that are kept: it goes into messages and logs. */
const MAX_REASON = 500;

const ERROR_ID = lite.idOf('liteServer.error');
const WAIT_ID = envelope.idOf('liteServer.waitMasterchainSeqno');
const PREFIX_ID = envelope.idOf('liteServer.queryPrefix');

/** The body of a call, without the envelope. @throws {TlError} */
export function encodeRequest<M extends LiteMethod>(request: LiteRequest<M>): Buffer {
  return lite.encodeCall(`liteServer.${request.method}`, request);
}

/** `liteServer.query` around an optional wait prefix and the body of a call. */
export function encodeEnvelope(body: Buffer, wait?: WaitPrefix): Buffer {
  const data =
    wait === undefined ? body : Buffer.concat([envelope.encodeCall('liteServer.waitMasterchainSeqno', wait), body]);
  return envelope.encodeCall('liteServer.query', { data });
}

/** The call inside an envelope. @throws {TlError} for unknown calls and malformed bytes */
export function decodeEnvelope(bytes: Buffer): { request: AnyLiteRequest; wait: WaitPrefix | null } {
  const { call, rest } = envelope.decodeCall(bytes);
  if (call.kind !== 'liteServer.query') throw new TlError(`${call.kind} where liteServer.query was expected`);
  if (rest.length > 0) throw new TlError(`${rest.length} bytes after the query`);
  return decodeBody(call.data);
}

/** The call of a body, without the envelope. @throws {TlError} */
export function decodeBody(bytes: Buffer): { request: AnyLiteRequest; wait: WaitPrefix | null } {
  let body = bytes;
  let wait: WaitPrefix | null = null;
  while (body.length >= 4) {
    const id = body.readUInt32LE(0);
    if (id !== WAIT_ID && id !== PREFIX_ID) break;
    const { call, rest } = envelope.decodeCall(body);
    if (call.kind === 'liteServer.waitMasterchainSeqno') wait = { seqno: call.seqno, timeoutMs: call.timeoutMs };
    body = rest;
  }
  const { call, rest } = lite.decodeCall(body);
  if (rest.length > 0) throw new TlError(`${rest.length} bytes after ${call.kind}`);
  const { kind, ...fields } = call;
  // The fields belong to the kind they were decoded with; taking it apart lost the connection.
  return { request: { method: kind.slice('liteServer.'.length), ...fields } as AnyLiteRequest, wait };
}

export function encodeAnswer<M extends LiteMethod>(method: M, answer: LiteAnswer<M>): Buffer {
  return lite.encodeAnswer(`liteServer.${method}`, answer);
}

export function encodeError(error: LiteServerError): Buffer {
  return lite.encode('liteServer.error', { code: error.code, message: error.message });
}

/** Control characters but the tab and the end of a line: in a terminal they could write over what others say. */
const CONTROL = /[^\P{Cc}\t\n]/gu;

/** A copy: a slice would keep all of the text for as long as the error is remembered. */
function reasonOf(text: string): string {
  return Buffer.from(text.slice(0, MAX_REASON).replace(CONTROL, '\ufffd')).toString();
}

/** Throws what the server reports instead of an answer. @throws {LiteServerError} @throws {TlError} */
export function throwIfError(bytes: Buffer): void {
  if (bytes.length < 4) throw new TlError(`answer of ${bytes.length} bytes`);
  if (bytes.readUInt32LE(0) !== ERROR_ID) return;
  const answer = lite.decode(bytes);
  if (answer.kind === 'liteServer.error') {
    throw new LiteServerError(answer.code, reasonOf(answer.message));
  }
}

/** Byte strings in the answer are views into `bytes`. @throws {LiteServerError} the server's own error @throws {TlError} */
export function decodeAnswer<M extends LiteMethod>(method: M, bytes: Buffer): LiteAnswer<M> {
  throwIfError(bytes);
  return lite.decodeAnswer(`liteServer.${method}`, bytes);
}

/** Shard identifier as the wire has it: a signed 64-bit number. */
export function shardToTl(shard: Shard): bigint {
  return BigInt.asIntN(64, BigInt(`0x${shard}`));
}

export function shardFromTl(shard: bigint): Shard {
  return BigInt.asUintN(64, shard).toString(16).padStart(16, '0');
}

export function blockIdToTl(id: BlockId): TlBlockId {
  return { workchain: id.workchain, shard: shardToTl(id.shard), seqno: id.seqno };
}

export function blockIdExtToTl(id: BlockIdExt): TlBlockIdExt {
  return { ...blockIdToTl(id), rootHash: id.rootHash, fileHash: id.fileHash };
}

/** The hashes are copied: an id outlives the frame it came in. */
export function blockIdExtFromTl(id: TlBlockIdExt): BlockIdExt {
  const { workchain, seqno } = id;
  return { workchain, shard: shardFromTl(id.shard), seqno, rootHash: copy(id.rootHash), fileHash: copy(id.fileHash) };
}

function copy(hash: Hash): Hash {
  return Buffer.from(hash);
}

export function sameBlock(a: BlockIdExt, b: BlockIdExt): boolean {
  return (
    a.seqno === b.seqno &&
    a.workchain === b.workchain &&
    a.shard === b.shard &&
    a.rootHash.equals(b.rootHash) &&
    a.fileHash.equals(b.fileHash)
  );
}
