import { LRUCache } from 'lru-cache';
import { parseBoc } from '../../chain/builder.ts';
import { DecodeError } from '../../chain/errors.ts';
import { sha256Of } from '../../chain/hash.ts';
import { blockIdExtToTl, LiteServerError } from '../../node/lite-api.ts';
import type { LiteHandlers } from '../../node/lite-server.ts';
import { readMessage } from '../messages.ts';
import type { Chain } from '../model.ts';
import type { Blocks } from './blocks.ts';
import { badRequest } from './refusals.ts';

/** As nodes say: 1.1, which can do listBlockTransactionsExt, getMasterchainInfoExt and runSmcMethod. */
const VERSION = 0x101;
const CAPABILITIES = 7n;

/** Messages taken last, by hash of their bytes. */
const REMEMBERED_MESSAGES = 4096;

/** @param now Unix seconds */
export function networkHandlers(chain: Chain, blocks: Blocks, now: () => number): LiteHandlers {
  const zero = chain.zeroState.mc;
  const init = { workchain: zero.workchain, rootHash: zero.rootHash, fileHash: zero.fileHash };
  const master = () => {
    const { mc } = chain.head();
    return { mc, last: blockIdExtToTl(mc), stateRootHash: blocks.state(mc).hash(), init };
  };
  const version = { version: VERSION, capabilities: CAPABILITIES };
  const taken = new LRUCache<string, true>({ max: REMEMBERED_MESSAGES });

  return {
    getMasterchainInfo() {
      const { last, stateRootHash } = master();
      return { last, stateRootHash, init };
    },
    getMasterchainInfoExt({ mode }) {
      if (mode !== 0) throw badRequest('unsupported getMasterchainInfo mode');
      const { mc, ...info } = master();
      return { mode, ...version, ...info, lastUtime: mc.genUtime, now: now() };
    },
    getTime: () => ({ now: now() }),
    getVersion: () => ({ mode: 0, ...version, now: now() }),
    sendMessage({ body }) {
      const key = sha256Of(body).toString('latin1');
      const result = chain.submit(body);
      if (result.accepted) taken.set(key, true);
      // A client that did not see the answer sends again: a node has nothing against the same message twice.
      else if (result.exitCode !== null || !taken.has(key)) throw new LiteServerError(0, refusal(body, result));
      return { status: 1 };
    },
  };
}

/** What a node says of a message it does not take; wallets show it to their users as it is. */
function refusal(body: Buffer, { reason, exitCode }: { reason: string; exitCode: number | null }): string {
  const prefix = 'cannot apply external message to current state : ';
  if (exitCode === null) return `${prefix}${reason}`;
  const account = destinationOf(body);
  const told = `External message was not accepted\nCannot run message on account: inbound external message rejected by account ${account}:`;
  return `${prefix}${told}\nexitcode=${exitCode}`;
}

function destinationOf(body: Buffer): string {
  try {
    const message = readMessage(parseBoc(body));
    if (message.kind === 'external_in') return message.destination.hash.toString('hex').toUpperCase();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
  }
  return 'unknown';
}
