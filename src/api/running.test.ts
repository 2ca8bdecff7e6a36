import { expect, test } from 'vitest';
import { TvmArgumentError } from '../tvm/contract.ts';
import { failureOf } from './errors.ts';
import { running } from './running.ts';

test('arguments that the executor cannot read are an error of the request', async () => {
  const failed = await running(() => Promise.reject(new TvmArgumentError('no cell'))).catch(failureOf);
  expect(failed).toMatchObject({ status: 422, text: 'stack: no cell', internal: false });
});
