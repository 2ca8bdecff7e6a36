import { ApiError } from '../errors.ts';

/** A query is not run, or was ended: 400 it cannot be read, 403 it is not allowed, 422 a parameter of the request. */
export class SqlRefusal extends ApiError {
  override name = 'SqlRefusal';
}
