import { expect, test } from 'vitest';
import { TvmArgumentError } from '../tvm/contract.ts';
import { TvmBusyError } from '../tvm/pool.ts';
import { failureOf } from './errors.ts';
import { running } from './running.ts';

test('arguments that the executor cannot read are an error of the request', async () => {
  const failed = await running(() => Promise.reject(new TvmArgumentError('no cell'))).catch(failureOf);
  expect(failed).toMatchObject({ status: 422, text: 'stack: no cell', internal: false });
});

test('who comes while too many contracts run is told when to come back', async () => {
  const failed = await running(() => Promise.reject(new TvmBusyError('256 calls wait for the TVM'))).catch(failureOf);
  expect(failed).toEqual({ status: 429, text: '256 calls wait for the TVM', retryAfter: 1, internal: false });
});
