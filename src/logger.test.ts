import { expect, it } from 'vitest';
import { readable } from './logger.ts';

it('writes of an error what happened and where, and no list of codes', async () => {
  const late = await new Promise<Error>((resolve) => {
    const signal = AbortSignal.timeout(1);
    signal.onabort = () => resolve(signal.reason);
  });
  expect(readable(late)).toEqual({ type: 'TimeoutError', message: late.message, stack: expect.any(String) });
  const failed = Object.assign(new Error('no room', { cause: new Error('disk') }), { code: 'ENOSPC' });
  expect(readable(failed)).toMatchObject({ type: 'Error', message: 'no room: disk', code: 'ENOSPC' });
});
