/** What transactions of a pending trace do: its actions, and the jetton wallets that signed blocks leave. */
import { decodeStates } from '../../clickhouse/states.ts';
import type { PendingTrace } from '../../streams/pending-trace.ts';
import { storedAction } from '../chain/actions/stored-action.ts';
import type { Emulated } from '../emulation/emulator.ts';
import { type Knowledge, traceOf } from '../emulation/knowledge.ts';
import { LateError } from '../outages.ts';
import type { OpenNode } from './merge.ts';
import type { SignedNode } from './nodes.ts';

/** What else is known, and up to which step. */
export interface Beside {
  /** What was emulated of the trace, in whole or in part; null for nothing. */
  emulated: Emulated | null;
  mcSeqno: number;
  signal: AbortSignal;
}

/**
 * A hostile trace may deploy many contracts whose get-methods never end: what it does is then not told, and steps and
 * other traces, which wait for this one, go on.
 */
const TIMEOUT_MS = 2_000;

/** @param failed takes what failed: then the trace is told without it */
export function createDeeds(knowledge: Knowledge, failed: (error: unknown) => void, timeoutMs = TIMEOUT_MS) {
  /** Null where it could not be told. */
  async function told<T>(
    what: string,
    { hashNorm }: Pick<PendingTrace, 'hashNorm'>,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | null> {
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      return await ask(AbortSignal.any([signal, limit]));
    } catch (error) {
      signal.throwIfAborted();
      const of = `${what} of pending trace ${hashNorm.toString('hex')}`;
      failed(limit.aborted ? new LateError(of, timeoutMs, error) : error);
      return null;
    }
  }

  return {
    async actions(
      nodes: readonly OpenNode[],
      { hashNorm, externalHash }: Pick<PendingTrace, 'hashNorm' | 'externalHash'>,
      { emulated, mcSeqno, signal }: Beside,
    ): Promise<Pick<PendingTrace, 'actions' | 'classification'>> {
      const [root] = nodes;
      const ends = {
        id: root.node.finality === 'pending' ? null : root.transaction.hash.toString('base64'),
        externalHash: externalHash.toString('base64'),
        externalHashNorm: hashNorm.equals(externalHash) ? null : hashNorm.toString('base64'),
        mcSeqnoEnd: Math.max(...nodes.map(({ node }) => node.mcSeqno)),
      };
      const trace = traceOf(
        ends,
        nodes.map(({ transaction }) => transaction),
      );
      const classified = await told('the actions', { hashNorm }, signal, (inTime) =>
        knowledge.classify(trace, emulated, mcSeqno, inTime),
      );
      if (classified === null) return { actions: [], classification: 'unclassified' };
      return { actions: classified.actions.map(storedAction), classification: classified.state };
    },
    /** The transactions with the wallets that they leave; what cannot be told of them, their step will tell. */
    async withWallets(
      nodes: readonly SignedNode[],
      trace: Pick<PendingTrace, 'hashNorm'>,
      { emulated, mcSeqno, signal }: Beside,
    ): Promise<readonly OpenNode[]> {
      const left = nodes.map(({ node, transaction, claims }) => {
        const { after } = decodeStates(node.states);
        return { account: transaction.account, dataHash: after?.dataHash ?? null, claims };
      });
      const wallets = await told('the jetton wallets', trace, signal, (inTime) =>
        knowledge.wallets(left, emulated, mcSeqno, inTime),
      );
      if (wallets === null) return nodes;
      return nodes.map((signed, i) => ({ ...signed, node: { ...signed.node, wallet: wallets[i] } }));
    },
  };
}

export type Deeds = ReturnType<typeof createDeeds>;
