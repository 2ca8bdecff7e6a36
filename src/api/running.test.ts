import { expect, test } from 'vitest';
import { TvmArgumentError } from '../tvm/contract.ts';
import { failureOf } from './errors.ts';
import { running } from './running.ts';

test('arguments that the executor cannot read are no failure of the service', async () => {
  const failed = await running(() => Promise.reject(new TvmArgumentError('no cell'))).catch(failureOf);
  expect(failed).toMatchObject({ status: 500, text: 'INTERNAL: no cell', internal: false });
});
