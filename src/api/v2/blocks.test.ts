import { expect, it } from 'vitest';
import { z } from 'zod';
import { compareBlocks } from '../../../clickhouse/queries/blocks.ts';
import { shardNumber } from '../../../clickhouse/queries/keys.ts';
import { serveApi } from '../../../test/api-server.ts';
import { createFakeSource } from '../../../test/fake-source.ts';
import type { Shard } from '../../chain/model.ts';
import type { BlockRecord } from '../../chain/records.ts';

it('looks blocks up by lt and time in the line of a shard, also where it is split and merged within a second', async () => {
  const [WHOLE, LEFT, RIGHT] = ['8000000000000000', '4000000000000000', 'c000000000000000'];
  // Listings put those of one second in the order of their shards: the whole one comes before its left half.
  const line: [Shard, number, number][] = [
    [WHOLE, 1, 10],
    [LEFT, 2, 20],
    [RIGHT, 2, 20],
    [LEFT, 3, 30],
    [RIGHT, 3, 30],
    [WHOLE, 4, 40],
    [WHOLE, 5, 50],
  ];
  const headers = line.map(([shard, seqno, lt]) => {
    const [rootHash, fileHash] = [Buffer.alloc(32, seqno), Buffer.alloc(32, lt)];
    const made = { workchain: 0, shard, seqno, rootHash, fileHash, genUtime: seqno < 5 ? 100 : 101 };
    return { ...made, startLt: String(lt), endLt: String(lt + 5) };
  });
  const { source } = createFakeSource({
    async blocks({ lt, utime, sort }) {
      const found = headers
        .filter(
          ({ startLt, genUtime }) =>
            BigInt(startLt) >= BigInt(lt.start ?? 0) &&
            BigInt(startLt) <= BigInt(lt.end ?? 1_000) &&
            genUtime >= (utime.start ?? 0),
        )
        // Nothing else is asked of them.
        .map((header) => ({ header }) as BlockRecord);
      return { rows: found.sort((a, b) => compareBlocks(a, b, sort)), nextCursor: null };
    },
  });
  const { url, close } = await serveApi(source);
  const look = async (half: Shard, by: object) => {
    const asked = { workchain: 0, shard: shardNumber(half), ...by };
    const answer = await fetch(`${url}/api/v2/lookupBlock`, { method: 'POST', body: JSON.stringify(asked) });
    return z.looseObject({ result: z.looseObject({ seqno: z.int() }) }).parse(await answer.json()).result.seqno;
  };
  try {
    for (const half of [LEFT, RIGHT]) {
      for (const lt of [10, 15]) expect(await look(half, { lt })).toBe(1);
      for (const lt of [16, 20, 25]) expect(await look(half, { lt })).toBe(2);
      for (const lt of [26, 33, 35]) expect(await look(half, { lt })).toBe(3);
      for (const lt of [36, 44]) expect(await look(half, { lt })).toBe(4);
      expect(await look(half, { lt: 46 })).toBe(5);
      expect(await look(half, { unixtime: 100 })).toBe(1);
      expect(await look(half, { unixtime: 101 })).toBe(5);
    }
  } finally {
    await close();
  }
});
