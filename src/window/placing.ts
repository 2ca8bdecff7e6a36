/**
 * Where chunks are kept. A store that is filled downwards, from a step on (its _origin_), and goes upwards from there has
 * them in two tables: those of the origin and before it by the complement of their step. So each comes behind all that is
 * there already, whichever way is gone, and pages of the engine get full; between others they stay half empty.
 */

import { stepKey } from './chunk.ts';
import type { Range } from './engine.ts';
import { behindPrefix, type Kind } from './kind.ts';

/** The last step that is written downwards; null where all are written upwards. */
export type Origin = number | null;

export interface Place {
  table: string;
  /** Of a chunk, or with which those of a step begin. */
  key: Buffer;
}

export const tableDownwards = ({ table }: Pick<Kind, 'table'>): string => `${table}.downwards`;

export function placeOf({ table }: Pick<Kind, 'table'>, key: Buffer, origin: Origin): Place {
  if (origin === null || key.readUInt32BE(0) > origin) return { table, key };
  return { table: tableDownwards({ table }), key: turned(key) };
}

interface Part {
  table: string;
  range: Range;
}

/** Where the chunks of the steps from `low` to before `end` are, in their order or from the newest on. */
export function partsOf(kind: Kind, low: number, end: number, reverse: boolean, origin: Origin): Part[] {
  if (end <= low) return [];
  const least = origin === null ? 0 : origin + 1;
  const parts: Part[] = [];
  if (end > least) {
    const range = { low: stepKey(Math.max(low, least)), high: stepKey(end), reverse };
    parts.push({ table: kind.table, range });
  }
  if (low < least) {
    const range = {
      low: turned(stepKey(Math.min(end, least) - 1)),
      high: behindPrefix(turned(stepKey(low))),
      reverse: !reverse,
    };
    parts.push({ table: tableDownwards(kind), range });
  }
  return reverse ? parts : parts.toReversed();
}

/** The step of a chunk there. */
export function stepAt(key: Buffer, { table }: Part, kind: Kind): number {
  const number = key.readUInt32BE(0);
  return table === kind.table ? number : ~number >>> 0;
}

function turned(key: Buffer): Buffer {
  const other = Buffer.from(key);
  other.writeUInt32BE(~key.readUInt32BE(0) >>> 0, 0);
  return other;
}
