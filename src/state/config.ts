/** The configuration of a step: of the last key block up to it, from the log, else from a liteserver. */
import { LRUCache } from 'lru-cache';
import { decodeBlock } from '../chain/block.ts';
import { openBoc } from '../chain/boc.ts';
import { type Cell, parseBoc } from '../chain/builder.ts';
import { completeCells } from '../chain/merge.ts';
import type { QueryContext } from '../chain/records.ts';
import { blockIdExtToTl } from '../node/lite-api.ts';
import { provenConfig } from '../node/lite-proofs.ts';
import type { Liteservers } from '../node/liteservers.ts';
import { type MasterBlock, masterBlockAtHand } from './master-blocks.ts';
import type { StateMetrics } from './metrics.ts';
import { forNodes } from './nodes.ts';
import type { Step } from './steps.ts';

export interface Configs {
  /**
   * Root of the dictionary of parameters (`Hashmap 32 ^Cell`) as of a step; the same object for all steps up to the
   * next key block. @throws {NodeError} @throws {NoNetworkError}
   */
  config(step: Step, context: QueryContext): Promise<Cell>;
}

/** Configurations that are kept; mainnet's takes some 3 MB as cells. */
const KEPT_CONFIGS = 8;

export function createConfigs(masterBlock: MasterBlock, liteservers: Liteservers, metrics: StateMetrics): Configs {
  const kept = new LRUCache<number, Cell>({ max: KEPT_CONFIGS });

  async function fromLog(keyBlock: number): Promise<Cell | null> {
    const boc = keyBlock === 0 ? null : await masterBlockAtHand(masterBlock, keyBlock);
    if (boc === null) return null;
    const block = openBoc(boc);
    const config = decodeBlock(block).master?.config ?? null;
    const whole = config === null ? null : completeCells(block, config);
    return whole === null ? null : parseBoc(whole);
  }

  async function read({ header }: Step, keyBlock: number, context: QueryContext): Promise<Cell> {
    const own = await fromLog(keyBlock);
    if (own !== null) {
      metrics.answered('config', 'own');
      return own;
    }
    const answer = await liteservers.query(
      { method: 'getConfigAll', mode: 0, id: blockIdExtToTl(header) },
      { ...forNodes(context), minMcSeqno: header.seqno },
    );
    metrics.answered('config', 'liteserver');
    return parseBoc(provenConfig(answer, header));
  }

  return {
    async config(step, context) {
      const { keyBlock, seqno, prevKeyBlockSeqno } = step.header;
      const key = keyBlock ? seqno : prevKeyBlockSeqno;
      const known = kept.get(key);
      if (known !== undefined) {
        metrics.answered('config', 'kept');
        return known;
      }
      const config = await read(step, key, context);
      kept.set(key, config);
      return config;
    },
  };
}
