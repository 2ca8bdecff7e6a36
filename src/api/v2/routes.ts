import type { Route } from './route.ts';

/** Every operation of the v2 API, in the order of the documentation. */
export function v2Routes(): Route[] {
  return [];
}
