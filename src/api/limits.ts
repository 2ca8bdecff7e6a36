/** Bounds on what one request may send and ask for. */
import type { ServerOptions } from 'node:http';
import type { Config } from '../config.ts';

export interface ApiLimits {
  /** Rows a listing gives when `limit` is absent. */
  defaultRows: number;
  /** Largest `limit`. */
  maxRows: number;
  /** Addresses in one list. */
  maxAddresses: number;
  /** Addresses in the list of `/accountStates`. */
  maxAccountStates: number;
  /** Milliseconds for each query; also the cap of `X-Timeout`. */
  queryTimeoutMs: number;
  /** Bytes of a request body. */
  maxBodyBytes: number;
}

/** Those of the TON Center service (endpoints 1.1 and 1.4 of the contract) that are no settings. */
const OF_CONTRACT = { defaultRows: 100, maxAddresses: 1024, maxAccountStates: 1000 };

export function apiLimits(config: Pick<Config, 'maxLimit' | 'queryTimeoutMs' | 'maxBodyBytes'>): ApiLimits {
  const { maxLimit: maxRows, queryTimeoutMs, maxBodyBytes } = config;
  return { ...OF_CONTRACT, maxRows, queryTimeoutMs, maxBodyBytes };
}

/**
 * Options for the `http.createServer` that carries the app. A thousand addresses in one GET need some 70 KiB of
 * request line, so the header limit is raised from Node's 16 KiB to 1 MiB; the timeouts end idle connections.
 */
export const SERVER_OPTIONS: ServerOptions = {
  maxHeaderSize: 1024 * 1024,
  headersTimeout: 15_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 65_000,
};
