/** What the tables know of a step as a whole. */
import { LRUCache } from 'lru-cache';
import { atMost } from '../../src/at-most.ts';
import type { Decimal } from '../../src/chain/model.ts';
import type { QueryContext } from '../../src/chain/records.ts';
import { u32 } from '../literal.ts';
import { perTables } from '../tables-id.ts';
import type { NewestReading } from './reading.ts';

export interface StepSpan {
  /** Logical times of its blocks: those of its transactions are between them. */
  startLt: Decimal;
  endLt: Decimal;
  /** False for one that was imported without it. */
  hasMasterchainBlock: boolean;
}

export interface Steps {
  /** Of a step that is not above the head; null where there is none. */
  spanOf(mcSeqno: number, context: QueryContext): Promise<StepSpan | null>;
}

/** Some 10 MB. */
const REMEMBERED = 50_000;

/** A step that is there never changes: one for all who read, whatever their bound. */
export function createSteps(reading: NewestReading): Steps {
  const knownOf = perTables(() => new LRUCache<number, StepSpan>(atMost(REMEMBERED)));
  return {
    async spanOf(mcSeqno, context) {
      const known = knownOf(reading.head.tables);
      const found = known.get(mcSeqno);
      if (found !== undefined) return found;
      const sql = `SELECT min(start_lt), max(end_lt), max(workchain = -1), count() FROM blocks WHERE mc_seqno = ${u32(mcSeqno)}`;
      const rows = await reading.rows(sql, 'span of a step', context);
      const [startLt, endLt, hasMasterchainBlock, blocks] = [rows.u64(), rows.u64(), rows.bool(), rows.u64()];
      if (blocks === '0') return null;
      const span = { startLt, endLt, hasMasterchainBlock };
      known.set(mcSeqno, span);
      return span;
    },
  };
}
