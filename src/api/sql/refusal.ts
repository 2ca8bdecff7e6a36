import { ApiError } from '../errors.ts';

/**
 * A query is not run, or was ended: 400 it cannot be answered as it is, 403 it is not allowed, 422 a parameter of the
 * request is wrong, 429 and 503 later.
 */
export class SqlRefusal extends ApiError {
  override name = 'SqlRefusal';
}
