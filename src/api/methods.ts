/** Methods of requests, and what is said to those that a path does not know. */
import type { ServerResponse } from 'node:http';
import type { IRouter, RequestHandler } from 'express';
import { ApiError } from './errors.ts';

/** HEAD is answered as GET, without the body. */
export function methodOf(method = ''): string {
  return method === 'HEAD' ? 'GET' : method;
}

/** What is answered to another method than these. */
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
