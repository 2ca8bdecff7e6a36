import { expect, it } from 'vitest';
import type { Knowledge } from '../emulation/knowledge.ts';
import { createDeeds } from './deeds.ts';
import type { OpenNode } from './merge.ts';

/** Get-methods that never end. */
const never = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
const knowledge: Knowledge = {
  classify: (_trace, _emulated, _mcSeqno, signal) => never(signal),
  wallets: (_left, _emulated, _mcSeqno, signal) => never(signal),
  deployed: (_emulated, _mcSeqno, signal) => never(signal),
};
const hash = Buffer.alloc(32);
const node = {
  node: { finality: 'pending', mcSeqno: 1 },
  transaction: { hash, account: Buffer.alloc(36), lt: '1', now: 1, inMsg: null, outMsgs: [], description: {} },
} as unknown as OpenNode;
const NAMES = { hashNorm: hash, externalHash: hash };

it('tells a trace without what it does when that takes too long', async () => {
  const failures: unknown[] = [];
  const { signal } = new AbortController();
  const deeds = createDeeds(knowledge, (error) => failures.push(error), 20);
  expect(await deeds.actions([node], NAMES, { emulated: null, mcSeqno: 1, signal })).toEqual({
    actions: [],
    classification: 'unclassified',
  });
  expect(await deeds.withWallets([], NAMES, { emulated: null, mcSeqno: 1, signal })).toEqual([]);
  const late = {
    name: 'LateError',
    message: expect.stringMatching(/^the (actions|jetton wallets) of pending trace .* within 20 ms/),
  };
  expect(failures).toMatchObject([late, late]);
});

it('ends with the turn of whoever asks', async () => {
  const turn = new AbortController();
  const deeds = createDeeds(knowledge, () => undefined);
  const told = deeds.actions([node], NAMES, { emulated: null, mcSeqno: 1, signal: turn.signal });
  turn.abort(new Error('the turn is over'));
  await expect(told).rejects.toThrow('the turn is over');
});
