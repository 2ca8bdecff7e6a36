import * as jettons from './jettons.ts';
import type { Attempt, Kind } from './kind.ts';
import * as nfts from './nfts.ts';
import * as ton from './ton.ts';

/** One file a family: a new type is a declaration in its family's file. */
const families = [ton, jettons, nfts];

export const kinds: readonly Kind[] = families.flatMap((family): readonly Kind[] => family.kinds);

const inOrder = kinds.flatMap((kind) => kind.attempts).sort((a, b) => a.rank - b.rank);

/** The matchers in the order in which they are applied. */
export const attempts: readonly Attempt[] = inOrder.filter(({ ghosts }) => !ghosts);

/** Those for messages that were not sent. */
export const ghostAttempts: readonly Attempt[] = inOrder.filter(({ ghosts }) => ghosts);
