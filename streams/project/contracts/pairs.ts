import { LRUCache } from 'lru-cache';
import type { ClickHouse } from '../../../clickhouse/client.ts';
import { bytes } from '../../../clickhouse/literal.ts';
import { RowReader } from '../../../clickhouse/rowbinary.ts';
import { jettonWalletCodes } from '../../../clickhouse/tables/jettons.ts';
import { atMost } from '../../../src/at-most.ts';
import { hashKey } from '../../../src/chain/hash.ts';
import type { Address, Hash } from '../../../src/chain/model.ts';
import type { BatchPlace } from '../accounts.ts';
import { createUnwritten } from '../held.ts';
import type { GrowingRows } from '../step-rows.ts';

const CACHED = 100_000;
const NEVER = Number.POSITIVE_INFINITY;

export type Pairs = ReturnType<typeof createPairs>;

/**
 * Since which step a master has confirmed wallets with a code: table `jetton_wallet_codes`, a bounded cache over it, and
 * what batches on their way wrote. It follows from the log alone, so what is not asked does not depend on memory.
 */
export function createPairs(clickhouse: ClickHouse) {
  const cache = new LRUCache<string, number>(atMost(CACHED));
  const unwritten = createUnwritten<number>();
  /** Of the batch at work: whatever the cache drops meanwhile, it sees one answer. */
  const held = new Map<string, number>();
  const keyOf = (master: Address, codeHash: Hash): string => hashKey(master) + hashKey(codeHash);

  /** What the tables have of a batch that is repeated is looked past. */
  async function read(
    master: Address,
    codeHash: Hash,
    { firstMcSeqno }: BatchPlace,
    signal: AbortSignal,
  ): Promise<number> {
    const sql = `SELECT min(mc_seqno), count() FROM ${jettonWalletCodes.name}
      WHERE jetton = ${bytes(master)} AND code_hash = ${bytes(codeHash)} AND mc_seqno < ${firstMcSeqno}`;
    const rows = new RowReader(await clickhouse.query(sql, { label: 'reading codes of jetton wallets', signal }));
    const since = rows.u32();
    return rows.u64() === '0' ? NEVER : since;
  }

  return {
    /** The first step; infinite where there is none. */
    async since(master: Address, codeHash: Hash, batch: BatchPlace, signal: AbortSignal): Promise<number> {
      const key = keyOf(master, codeHash);
      const known = unwritten.get(key) ?? held.get(key) ?? cache.get(key);
      const since = known ?? (await read(master, codeHash, batch, signal));
      // Another one of the step may have been faster.
      const now = unwritten.get(key) ?? since;
      held.set(key, now);
      cache.set(key, now);
      return now;
    },
    /** A wallet was told for the first time: `since` was asked before. */
    put(master: Address, codeHash: Hash, rows: GrowingRows, batch: number): void {
      const key = keyOf(master, codeHash);
      const known = unwritten.get(key) ?? held.get(key) ?? NEVER;
      if (known !== NEVER) return;
      unwritten.put(key, rows.mcSeqno, batch);
      rows.add(jettonWalletCodes, { jetton: master, codeHash, mcSeqno: rows.mcSeqno });
    },
    /** Before a batch. */
    clear: () => held.clear(),
    written(batch: number): void {
      unwritten.written(batch, (key, since) => {
        cache.set(key, since);
        held.set(key, since);
      });
    },
  };
}
