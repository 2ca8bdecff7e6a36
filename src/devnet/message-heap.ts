import type { Cell } from '../chain/builder.ts';
import type { InternalMessage } from './messages.ts';
import { compareEntries } from './queue.ts';

/** A message created in this block, and the transaction that sent it. */
export interface NewMessage {
  message: InternalMessage;
  transaction: Cell;
}

interface Place {
  item: NewMessage;
  enqueuedLt: bigint;
  hash: string;
}

/** Created messages by lt, then hash: a binary heap. */
export function createMessageHeap(): { push(item: NewMessage): void; pop(): NewMessage | null } {
  const heap: Place[] = [];
  const before = (a: number, b: number): boolean => compareEntries(heap[a], heap[b]) < 0;
  const swap = (a: number, b: number): void => {
    [heap[a], heap[b]] = [heap[b], heap[a]];
  };
  return {
    push: (item) => {
      heap.push({ item, enqueuedLt: item.message.createdLt, hash: item.message.cell.key() });
      for (let i = heap.length - 1; i > 0; ) {
        const parent = (i - 1) >> 1;
        if (!before(i, parent)) break;
        swap(i, parent);
        i = parent;
      }
    },
    pop: () => {
      if (heap.length === 0) return null;
      swap(0, heap.length - 1);
      const top = heap.pop();
      for (let i = 0; ; ) {
        const [left, right] = [2 * i + 1, 2 * i + 2];
        let least = i;
        if (left < heap.length && before(left, least)) least = left;
        if (right < heap.length && before(right, least)) least = right;
        if (least === i) break;
        swap(i, least);
        i = least;
      }
      return top?.item ?? null;
    },
  };
}
