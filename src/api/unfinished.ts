/** What clients have sent and not finished: messages and bodies of which the end is still to come, of all connections. */

export interface Unfinished {
  /** @param drop ends the connection: it has the most of all, and all have too much */
  open(drop: () => void): Part;
}

/** Of one connection. */
export interface Part {
  add(bytes: number): void;
  /** Of what came so much was no part of it. */
  less(bytes: number): void;
  /** All that came is finished. */
  clear(): void;
}

export interface UnfinishedOptions {
  /** Bytes of all connections. */
  maxBytes: number;
  onDropped: () => void;
}

interface Counted extends Part {
  bytes: number;
  drop: () => void;
}

export function createUnfinished({ maxBytes, onDropped }: UnfinishedOptions): Unfinished {
  /** Those that have any. */
  const parts = new Set<Counted>();
  let total = 0;

  function dropLargest(): void {
    let largest: Counted | null = null;
    for (const part of parts) if (largest === null || part.bytes > largest.bytes) largest = part;
    if (largest === null) return;
    largest.clear();
    onDropped();
    largest.drop();
  }

  return {
    open(drop) {
      const part: Counted = {
        bytes: 0,
        drop,
        add(bytes) {
          part.bytes += bytes;
          total += bytes;
          parts.add(part);
          while (total > maxBytes) dropLargest();
        },
        less(bytes) {
          const gone = Math.min(bytes, part.bytes);
          total -= gone;
          part.bytes -= gone;
          if (part.bytes === 0) parts.delete(part);
        },
        clear: () => part.less(part.bytes),
      };
      return part;
    },
  };
}
