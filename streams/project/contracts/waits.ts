import type { ClickHouse } from '../../../clickhouse/client.ts';
import { keySet } from '../../../clickhouse/literal.ts';
import { KEYS_PER_QUERY, lotsOf } from '../../../clickhouse/lots.ts';
import { RowReader } from '../../../clickhouse/rowbinary.ts';
import { contractWaits } from '../../../clickhouse/tables/services.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address } from '../../../src/chain/model.ts';
import type { BatchPlace } from '../accounts.ts';
import type { GrowingRows } from '../step-rows.ts';

interface Wait {
  account: Address;
  waits: boolean;
  /** Null for what the tables have. */
  batch: number | null;
}

export type Waits = ReturnType<typeof createWaits>;

/** Who waits for what the log has not shown: table `contract_waits`, and what batches on their way wrote to it. */
export function createWaits(clickhouse: ClickHouse) {
  const unwritten = new Map<string, Map<string, Wait>>();
  let held = new Map<string, Map<string, Wait>>();

  function note(map: Map<string, Map<string, Wait>>, missing: Buffer, wait: Wait): void {
    const key = hashKey(missing);
    const others = map.get(key) ?? new Map<string, Wait>();
    others.set(hashKey(wait.account), wait);
    map.set(key, others);
  }

  return {
    /** Before a batch: what memory holds of the one before is let go. */
    clear(): void {
      held = new Map();
    },
    /** Brings those into memory who wait for something that the batch may show, and returns them. */
    async begin(shown: readonly Buffer[], { firstMcSeqno }: BatchPlace, signal: AbortSignal): Promise<Address[]> {
      for (const some of lotsOf(shown, KEYS_PER_QUERY)) {
        const rows = new RowReader(
          await clickhouse.query(
            `SELECT missing, address, mc_seqno, waits FROM ${contractWaits.name}
             WHERE missing IN ${keySet(some)} ORDER BY mc_seqno`,
            { label: 'reading which contracts wait', signal },
          ),
        );
        while (!rows.done) {
          const missing = rows.fixed(36);
          const account = Buffer.from(rows.fixed(36));
          const repeated = rows.u32() >= firstMcSeqno;
          const waits = rows.bool();
          // Of a batch that is repeated: what it begins to wait for comes again, what it has found was waited for.
          if (repeated && waits) continue;
          note(held, missing, { account, waits: repeated || waits, batch: null });
        }
      }
      for (const [key, waits] of unwritten) {
        for (const [account, wait] of waits) {
          const others = held.get(key) ?? new Map<string, Wait>();
          others.set(account, wait);
          held.set(key, others);
        }
      }
      const waiting = shown.flatMap((missing) => [...(held.get(hashKey(missing))?.values() ?? [])]);
      return waiting.filter(({ waits }) => waits).map(({ account }) => account);
    },
    /** Who waits for this. They wait no longer: what they still miss they say again. */
    take(missing: Buffer, rows: GrowingRows, batch: number): Address[] {
      const accounts = [...(held.get(hashKey(missing))?.values() ?? [])].filter(({ waits }) => waits);
      for (const { account } of accounts) {
        note(held, missing, { account, waits: false, batch });
        note(unwritten, missing, { account, waits: false, batch });
        rows.add(contractWaits, { missing, address: account, mcSeqno: rows.mcSeqno, waits: false });
      }
      return accounts.map(({ account }) => account);
    },
    add(missing: Buffer, account: Address, rows: GrowingRows, batch: number): void {
      note(held, missing, { account, waits: true, batch });
      note(unwritten, missing, { account, waits: true, batch });
      rows.add(contractWaits, { missing, address: account, mcSeqno: rows.mcSeqno, waits: true });
    },
    written(batch: number): void {
      for (const [key, waits] of unwritten) {
        for (const [account, wait] of waits) if (wait.batch !== null && wait.batch <= batch) waits.delete(account);
        if (waits.size === 0) unwritten.delete(key);
      }
    },
  };
}
