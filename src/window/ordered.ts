/** Lazily ordered rows. */

/** Rows whose neighbours belong to one group, each group sorted; nulls go through as they come. */
export function* groupsOf<T>(
  rows: Iterable<T | null>,
  same: (a: T, b: T) => boolean,
  compare: (a: T, b: T) => number,
): Generator<T | null> {
  let group: T[] = [];
  for (const row of rows) {
    if (row === null) {
      yield null;
      continue;
    }
    if (group.length > 0 && !same(group[0], row)) {
      yield* group.length === 1 ? group : group.sort(compare);
      group = [];
    }
    group.push(row);
  }
  yield* group.sort(compare);
}

/** Several ordered sequences as one: a heap of their next rows. */
export function* mergeOrdered<T>(sequences: readonly Iterable<T>[], compare: (a: T, b: T) => number): Generator<T> {
  const heap: { row: T; rest: Iterator<T> }[] = [];
  try {
    for (const sequence of sequences) {
      const rest = sequence[Symbol.iterator]();
      const first = rest.next();
      if (!first.done) push(heap, { row: first.value, rest }, compare);
    }
    while (heap.length > 0) {
      const [top] = heap;
      yield top.row;
      const next = top.rest.next();
      if (next.done) {
        const last = heap.pop();
        if (heap.length > 0 && last) heap[0] = last;
      } else top.row = next.value;
      sink(heap, compare);
    }
  } finally {
    for (const { rest } of heap) rest.return?.();
  }
}

function push<T, H extends { row: T }>(heap: H[], entry: H, compare: (a: T, b: T) => number): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (compare(heap[parent].row, entry.row) <= 0) break;
    heap[at] = heap[parent];
    at = parent;
  }
  heap[at] = entry;
}

function sink<T, H extends { row: T }>(heap: H[], compare: (a: T, b: T) => number): void {
  if (heap.length === 0) return;
  const entry = heap[0];
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && compare(heap[child + 1].row, heap[child].row) < 0) child++;
    if (compare(entry.row, heap[child].row) <= 0) break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = entry;
}
