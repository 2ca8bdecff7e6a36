import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');

/** At once and all of it: what is held behind it is held by somebody. */
export const collectGarbage: () => void = runInNewContext('gc');
