/**
 * Copies in memory of their own, for what is kept long: a small Buffer is cut from Node's pool, or from a page that was
 * read, and would keep all of that alive.
 */
export function ownCopy(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** Of several, cut from one piece of memory: each piece costs as much as many bytes. */
export function ownCopies<T extends Readonly<Record<string, Buffer | null>>>(all: T): T {
  const memory = Buffer.allocUnsafeSlow(Object.values(all).reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0));
  let end = 0;
  const copies = Object.entries(all).map(([name, bytes]) => {
    if (bytes === null) return [name, null];
    const start = end;
    end += bytes.copy(memory, start);
    return [name, memory.subarray(start, end)];
  });
  return Object.fromEntries(copies);
}
