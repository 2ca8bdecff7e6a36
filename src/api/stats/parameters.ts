import { z } from 'zod';
import type { Range } from '../../../clickhouse/queries/statistics.ts';
import { RESOLUTIONS, type Resolution } from '../../../clickhouse/tables/statistics.ts';
import { ApiError } from '../errors.ts';
import { sentLast } from '../parameters.ts';
import { utime } from '../v3/parameters.ts';

/** Buckets of one answer. */
const MOST_POINTS = 2_000;
/** Subjects of all its buckets together: each is some 200 bytes of text. */
const MOST_ROWS = 50_000;
/** Where no time is given: a day of hours, a month of days. */
const USUAL_POINTS: Record<Resolution, number> = { hour: 24, day: 30 };
const MOST_SUBJECTS = 256;
const USUAL_SUBJECTS = 10;

export const bucketParameters = {
  resolution: sentLast
    .pipe(z.enum(['hour', 'day'], { error: 'resolution must be hour or day' }))
    .default('hour')
    .meta({ type: 'string', enum: ['hour', 'day'], default: 'hour', description: 'Length of a bucket, UTC.' }),
  from: utime('Buckets that begin at this time or later, seconds since 1970. Default: a day of hours, 30 days.'),
  to: utime('Buckets that begin before this time. Default: up to the head.'),
};

export const limit = sentLast
  .transform(Number)
  .pipe(
    z
      .int({ error: `must be a whole number from 1 to ${MOST_SUBJECTS}` })
      .min(1)
      .max(MOST_SUBJECTS),
  )
  .default(USUAL_SUBJECTS)
  .meta({
    type: 'integer',
    minimum: 1,
    maximum: MOST_SUBJECTS,
    default: USUAL_SUBJECTS,
    description: 'Of each bucket those with the most.',
  });

interface Asked {
  resolution: Resolution;
  from: number | undefined;
  to: number | undefined;
}

/**
 * @param limit rows of a bucket
 * @throws {ApiError} when there are too many buckets or rows, or none
 */
export function rangeOf({ resolution, from, to }: Asked, limit = 1) {
  return ({ time, first }: Range): { from: number; to: number } => {
    const size = RESOLUTIONS[resolution];
    const end = Math.min(to ?? time + 1, time + 1);
    const start = Math.max(from ?? end - USUAL_POINTS[resolution] * size, first - size);
    if (from !== undefined && to !== undefined && from >= to) throw new ApiError(422, 'from must be before to');
    if ((end - start) / size > MOST_POINTS) {
      throw new ApiError(422, `more than ${MOST_POINTS} buckets: ask for a shorter time, or by day`);
    }
    if (((end - start) / size) * limit > MOST_ROWS) {
      throw new ApiError(422, `more than ${MOST_ROWS} rows: ask for a shorter time, for fewer of each, or by day`);
    }
    return { from: start, to: end };
  };
}
