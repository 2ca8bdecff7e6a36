/** Paths that are asked by GET alone, and what is said to other methods. */
import type { ServerResponse } from 'node:http';
import type { IRouter, RequestHandler } from 'express';
import { ApiError } from './errors.ts';

export function refusedMethod(response: ServerResponse, methods: readonly string[]): ApiError {
  const allowed = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
  response.setHeader('Allow', [...allowed, 'OPTIONS'].join(', '));
  return new ApiError(405, 'Method Not Allowed');
}

/** GET and HEAD go to the handler, any other method to 405. */
export function serveGet(router: IRouter, path: string, handler: RequestHandler): void {
  router.get(path, handler);
  router.all(path, (_request, response, next) => next(refusedMethod(response, ['GET'])));
}
