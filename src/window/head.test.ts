import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { madeHead } from '../../test/made-chain.ts';
import { createHostHead } from './head.ts';
import { WINDOW_VERSION } from './state.ts';
import type { Window } from './window.ts';

const FAR = 33;

/** A window with these steps whose files take a moment to be written; what is told and written is noted in order. */
function opened({ windowHead, tablesHead }: { windowHead: number; tablesHead: number }) {
  const files = { head: windowHead, speaks: false, fails: false };
  const noted: string[] = [];
  const errors: unknown[] = [];
  const tables = madeHead(tablesHead);
  const window: Pick<Window, 'state' | 'speak'> = {
    get state() {
      const none = {
        version: WINDOW_VERSION,
        form: '',
        tables: '',
        first: 1,
        globalId: -217,
        rootHash: '',
        nextOffset: 0,
        stepBytes: 0,
      } as const;
      return { ...none, bytes: 0, codeBytes: 0, below: null, head: files.head, speaks: files.speaks };
    },
    async speak(speaks) {
      await sleep(5);
      if (files.fails) throw new Error('the disk is full');
      if (files.speaks !== speaks) noted.push(speaks ? 'speaks' : 'is silent');
      files.speaks = speaks;
    },
  };
  const head = createHostHead({ window, tables, onError: (error) => errors.push(error) });
  head.onAdvance((from, to) => noted.push(`${from} to ${to}`));
  return { head, tables, files, noted, errors };
}

it('is that of the tables until the window has reached them, then that of the window', async () => {
  const { head, tables, files, noted } = opened({ windowHead: 3, tablesHead: 5 });
  expect(head.seqno).toBe(5);
  await head.decide(true);
  tables.advance(6);
  files.head = 6;
  const weighed = head.decide(true);
  // While it is being written down nothing newer than the window is told of.
  await sleep(1);
  tables.advance(7);
  await weighed;
  files.head = 7;
  await head.decide(true);
  expect(noted).toEqual(['5 to 6', 'speaks', '6 to 7']);
  expect(head.windowAnswers).toBe(true);
});

it('is that of the tables once the files say that the window is silent', async () => {
  const { head, tables, noted } = opened({ windowHead: 3, tablesHead: 3 });
  await head.decide(true);
  tables.advance(3 + FAR);
  await head.decide(true);
  expect(noted).toEqual(['speaks', 'is silent', `3 to ${3 + FAR}`]);
});

it('leaves the window silent before the tables are known to have what it has', async () => {
  const { head, files } = opened({ windowHead: 3, tablesHead: 3 });
  await head.decide(false);
  expect([head.windowAnswers, files.speaks]).toEqual([false, false]);
});

it('tries again to silence the window with the next step when that could not be written', async () => {
  const { head, tables, files, errors } = opened({ windowHead: 3, tablesHead: 3 });
  await head.decide(true);
  files.fails = true;
  tables.advance(3 + FAR);
  await expect.poll(() => [files.speaks, errors.length]).toEqual([true, 1]);
  files.fails = false;
  tables.advance(4 + FAR);
  await expect.poll(() => [files.speaks, errors.length]).toEqual([false, 1]);
});
