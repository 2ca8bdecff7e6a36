/** An operation of the v2 API. */
import type { z } from 'zod';
import type { ChainSource } from '../../chain/chain-source.ts';
import type { QueryContext } from '../../chain/records.ts';
import type { Liteservers } from '../../node/liteservers.ts';
import type { StateSource } from '../../state/source.ts';
import type { Contracts } from '../contracts.ts';
import { ApiError } from '../errors.ts';
import type { Parameters } from '../parameters.ts';
import { type Declaration, declare, type Route as RouteOf } from '../route.ts';
import type { Renderings } from './render/renderings.ts';

/** What a route may use to answer. */
export interface Asked {
  source: ChainSource;
  liteservers: Liteservers;
  /** Of accounts, the configuration and the like, as of the steps that the source shows. */
  states: StateSource;
  /** Runs get-methods and messages. */
  contracts: Contracts;
  renderings: Renderings;
  context: QueryContext;
}

export type Route = RouteOf<Asked>;

/** Asked by GET and POST unless it says otherwise; `answer` gives the `result`. */
export function route<T extends Parameters>(declaration: Declaration<T, Asked>): Route {
  return declare({ methods: ['GET', 'POST'], ...declaration }, refuse);
}

/** A parameter is missing or cannot be read: the envelope says of which form of request. */
export class ParameterError extends ApiError {
  override name = 'ParameterError';
}

/** A parameter's type says what is wrong with it; where it says nothing else, it could not be parsed. */
function refuse([{ path, message, ...issue }]: readonly z.core.$ZodIssue[]): ApiError {
  const unread = issue.code === 'custom' && issue.params?.conversion === true;
  return new ParameterError(422, unread ? `failed to parse ${String(path[0])}` : message);
}
