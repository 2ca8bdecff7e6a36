import { contracts } from './contracts/projection.ts';
import type { Projection } from './projection.ts';
import { statistics } from './statistics.ts';
import { traceProjection } from './trace-projection.ts';

/** What is projected beside the chain itself, in this order. */
export const PROJECTIONS: readonly Projection[] = [contracts, traceProjection, statistics];
