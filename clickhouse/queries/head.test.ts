import { describe, expect, it } from 'vitest';
import type { ClickHouse } from '../client.ts';
import { createHead, HeadBehind, TablesBehind } from './head.ts';

/** Tables that hold what `batches` say, each asked once, the last one from then on; a step alone has its own number. */
function tables(...batches: (number | [number: number, seqno: number])[]): Pick<ClickHouse, 'json'> {
  return {
    async json(sql, schema) {
      const batch = batches.length > 1 ? batches.shift() : batches[0];
      const [number, seqno] = Array.isArray(batch) ? batch : [batch ?? 0, batch ?? 0];
      const from = Number(/number >= (\d+)/.exec(sql)?.[1]);
      return seqno > 0 && number >= from ? [schema.parse({ number, seqno, global_id: -217 })] : [];
    },
  };
}
const { signal } = new AbortController();

describe('a head', () => {
  it('advances by looking and by being told, never back', async () => {
    const head = createHead(tables(0, 4, 3));
    const told: [number, number][] = [];
    head.onAdvance((from, to) => told.push([from, to]));
    await head.refresh(signal);
    expect([head.seqno, head.inTables, head.globalId]).toEqual([0, 0, null]);
    await head.refresh(signal);
    expect([head.seqno, head.inTables, head.globalId]).toEqual([4, 4, -217]);
    await head.refresh(signal);
    head.advance(2, -3);
    head.advance(6);
    expect([head.seqno, head.inTables, head.globalId]).toEqual([6, 6, -3]);
    expect(told).toEqual([
      [0, 4],
      [4, 6],
    ]);
  });

  it('that is told shows no step it found by itself, and knows that the tables hold it', async () => {
    const head = createHead(tables(1, 2, 5), { of: 'host' });
    head.advance(1, -217);
    await head.reach(5, 10_000, signal);
    expect([head.seqno, head.inTables]).toEqual([1, 5]);
    head.advance(4);
    expect([head.seqno, head.inTables]).toEqual([4, 5]);
  });

  it('finds the newest step of tables that were made anew, of which the batches have other numbers', async () => {
    const head = createHead(tables([900, 40], [3, 40], [3, 40], [4, 41]));
    for (let i = 0; i < 3; i++) await head.refresh(signal);
    expect([head.seqno, head.globalId]).toEqual([41, -217]);
  });

  it('says that tables which were made anew end before those that were there', async () => {
    const head = createHead(tables([900, 40], [3, 30], [3, 30], [11, 40]));
    head.belongTo('these');
    await head.refresh(signal);
    head.belongTo('others');
    await expect(head.refresh(signal)).rejects.toThrow(TablesBehind);
    expect(head.seqno).toBe(40);
    await head.refresh(signal);
  });

  it('takes an answer that comes late for one of the tables that were made anew', async () => {
    const answers: ((seqno: number) => void)[] = [];
    const asked = () => new Promise<number>((resolve) => answers.push(resolve));
    const head = createHead({
      json: async (_, schema) => [schema.parse({ number: 1, seqno: await asked(), global_id: -217 })],
    });
    head.belongTo('these');
    head.belongTo('others');
    const [early, late] = [head.refresh(signal), head.refresh(signal)];
    answers[1](41);
    await late;
    answers[0](40);
    await early;
    expect(head.seqno).toBe(41);
    const next = head.refresh(signal);
    answers[2](40);
    await expect(next).rejects.toThrow(TablesBehind);
  });

  it('gives up on a step that does not come', async () => {
    const failure = createHead(tables(1)).reach(2, 20, signal);
    await expect(failure).rejects.toThrow(HeadBehind);
    await expect(failure).rejects.toThrow('step 2 is being written, the tables hold 1');
  });
});
