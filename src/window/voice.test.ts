import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { madeHead } from '../../test/made-chain.ts';
import { createVoice } from './voice.ts';
import type { Window } from './window.ts';

const FAR = 33;

/** A window with these steps whose files take a moment to be written; what is told and written is noted in order. */
function speaking({ windowHead, tablesHead }: { windowHead: number; tablesHead: number }) {
  const files = { head: windowHead, speaks: false, fails: false };
  const noted: string[] = [];
  const errors: unknown[] = [];
  const head = madeHead(tablesHead);
  const window: Pick<Window, 'state' | 'speak'> = {
    get state() {
      const none = {
        version: 3,
        form: '',
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
  const voice = createVoice({ window, head, onError: (error) => errors.push(error) });
  voice.shown.onAdvance((from, to) => noted.push(`${from} to ${to}`));
  return { voice, head, files, noted, errors };
}

it('tells of the tables until the window has reached them, then of the window', async () => {
  const { voice, head, files, noted } = speaking({ windowHead: 3, tablesHead: 5 });
  expect(voice.shown.seqno).toBe(5);
  await voice.weigh(true);
  head.advance(6);
  files.head = 6;
  const weighed = voice.weigh(true);
  // While it is being written down nothing newer than the window is told of.
  await sleep(1);
  head.advance(7);
  await weighed;
  files.head = 7;
  await voice.weigh(true);
  expect(noted).toEqual(['5 to 6', 'speaks', '6 to 7']);
  expect(voice.speaks).toBe(true);
});

it('tells of the tables before the files say that the window is silent', async () => {
  const { voice, head, noted } = speaking({ windowHead: 3, tablesHead: 3 });
  await voice.weigh(true);
  head.advance(3 + FAR);
  await voice.weigh(true);
  expect(noted).toEqual(['speaks', `3 to ${3 + FAR}`, 'is silent']);
});

it('does not speak before the tables are known to have what it has', async () => {
  const { voice, files } = speaking({ windowHead: 3, tablesHead: 3 });
  await voice.weigh(false);
  expect([voice.speaks, files.speaks]).toEqual([false, false]);
});

it('tries again to be silent with the next step when that could not be written', async () => {
  const { voice, head, files, errors } = speaking({ windowHead: 3, tablesHead: 3 });
  await voice.weigh(true);
  files.fails = true;
  head.advance(3 + FAR);
  await sleep(20);
  expect([files.speaks, errors.length]).toEqual([true, 1]);
  files.fails = false;
  head.advance(4 + FAR);
  await sleep(20);
  expect([files.speaks, errors.length]).toEqual([false, 1]);
});
