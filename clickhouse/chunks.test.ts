import { expect, test } from 'vitest';
import { createChunks } from './chunks.ts';

test('writes to memory that was released, and to no other that was used', () => {
  const chunks = createChunks();
  const first = chunks.writer();
  first.string(Buffer.alloc(300_000, 1));
  const taken = first.take();
  const other = chunks.writer();
  other.string('kept');
  const kept = other.take();
  chunks.release(taken);
  const again = chunks.writer();
  again.u32(7);
  const [rows] = again.take();
  expect(taken.some(({ buffer }) => buffer === rows.buffer)).toBe(true);
  const more = chunks.writer();
  more.u32(8);
  const [others] = more.take();
  expect(others.buffer).not.toBe(rows.buffer);
  expect(kept[0].toString('latin1')).toBe('\x04kept');
  expect([rows.readUInt32LE(), others.readUInt32LE()]).toEqual([7, 8]);
});
