import { expect, test } from 'vitest';
import type { Batch } from './engine.ts';
import { shuffled } from './store.ts';

/** A batch as the engine does it, and what is there then. */
function written(write: (batch: Batch) => void): Map<string, string> {
  const found = new Map<string, string>();
  const keyOf = (table: string, key: Buffer): string => `${table} ${key.toString()}`;
  const put: Batch['put'] = (table, key, value) => void found.set(keyOf(table, key), value.toString());
  const remove: Batch['delete'] = (table, key) => void found.delete(keyOf(table, key));
  const { batch, flush } = shuffled({ put, append: put, delete: remove });
  write(batch);
  flush();
  return found;
}

test('puts in no order leave what puts in their order leave', () => {
  const keys = Array.from({ length: 8 }, (_, i) => Buffer.from(`key ${i}`));
  const values = Array.from({ length: 8 }, (_, i) => Buffer.from(`value ${i}`));
  for (let round = 0; round < 50; round++) {
    const found = written((batch) => {
      for (const value of values) for (const key of keys) batch.put('accounts', key, value);
      batch.put('accounts', keys[0], values[0]);
      batch.put('data', keys[0], values[1]);
      batch.delete('accounts', keys[1]);
      batch.put('accounts', keys[2], values[2]);
    });
    expect(found).toEqual(
      new Map([
        ...keys.map((key): [string, string] => [`accounts ${key}`, 'value 7']).filter((_, i) => i !== 1),
        ['accounts key 0', 'value 0'],
        ['data key 0', 'value 1'],
        ['accounts key 2', 'value 2'],
      ]),
    );
  }
});
