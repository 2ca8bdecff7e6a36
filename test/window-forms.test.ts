/** Answers made of the forms that a window keeps against answers rendered from its records, byte by byte. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { UNKEPT_BOOK_ROWS } from '../src/api/v3/render/book-rows.ts';
import { transactionForm } from '../src/api/v3/render/forms.ts';
import { createRenderings } from '../src/api/v3/render/renderings.ts';
import { createNotifier } from '../src/feed/notification.ts';
import type { Wants } from '../src/feed/step.ts';
import { createStepReader } from '../src/feed/steps.ts';
import { NOTHING, type Subscription } from '../src/feed/subscription.ts';
import { createWindowSource } from '../src/window/source.ts';
import { type Arrival, openWindow, type Window } from '../src/window/window.ts';
import { type ApiServer, serveApi } from './api-server.ts';
import { rounds } from './chance.ts';
import { emptyTables } from './empty-tables.ts';
import { metricOf } from './metrics.ts';
import { recordedSteps } from './recorded-steps.ts';
import { shelf } from './shelf.ts';
import { type Answered, get } from './window-answers.ts';
import { requests } from './window-requests.ts';

const GB = 1024 ** 3;
const RUNS = rounds(40, 400);
const SWITCHES = ['', 'x_no_address_book=true', 'x_no_metadata=true'];

/** All that needs no other contract's state. */
const WANTS: Wants = {
  parts: new Set(['states', 'messages', 'blocks']),
  traces: new Set(),
  addressBook: true,
  metadata: false,
};
const HEARD: Subscription = { ...NOTHING, addressBook: true, cursors: true };
const NOTHING_CHOSEN = { chosen: () => [] };

interface Side {
  window: Window;
  server: ApiServer;
  metrics: Registry;
}

describe.skipIf(shelf === null).each([false, true])(
  'answers of a window with forms, on a test network: %s',
  (testnet) => {
    const folder = mkdtempSync(join(tmpdir(), 'tonstream-forms-'));
    let steps: Arrival[];
    let formed: Side;
    let rendered: Side;

    async function side(name: string, form: typeof transactionForm | null): Promise<Side> {
      const window = openWindow({ folder: join(folder, name), maxBytes: GB, ...(form ? { form } : {}) });
      await window.apply(steps, async () => null);
      const metrics = new Registry();
      const server = await serveApi(createWindowSource(window, emptyTables()), { metrics, testnet: () => testnet });
      return { window, server, metrics };
    }

    const ask = ({ server }: Side, path: string): Promise<Answered> => get(server.url, path);

    beforeAll(async () => {
      steps = await recordedSteps('mainnet-genesis_a');
      formed = await side('formed', transactionForm);
      rendered = await side('rendered', null);
    });

    afterAll(async () => {
      for (const { window, server } of [formed, rendered]) {
        await server.close();
        await window.close();
      }
      rmSync(folder, { recursive: true, force: true });
    });

    it('are the same as rendered ones', async () => {
      const stored = steps.map(({ step, nextOffset }, i) => ({ step, nextOffset, bytes: 0, firstOffset: i, time: 0 }));
      const asked = fc.tuple(requests(stored), fc.constantFrom(...SWITCHES));
      const same = fc.asyncProperty(asked, async ([path, text]) => {
        const whole = text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
        expect(await ask(formed, whole)).toEqual(await ask(rendered, whole));
      });
      await fc.assert(same, { numRuns: RUNS, endOnFailure: true });
      expect([...formed.server.reported, ...rendered.server.reported]).toEqual([]);
    });

    it('tell what happens in a step as its records do', async () => {
      const signal = new AbortController().signal;
      const told = async ({ window }: Side): Promise<string[]> => {
        const source = createWindowSource(window, emptyTables());
        const reader = createStepReader({ source, queryTimeoutMs: 30_000, keptTransactions: 1 });
        const notifier = createNotifier({
          renderings: createRenderings({ maxBytes: 0 }),
          rows: UNKEPT_BOOK_ROWS,
          globalId: () => -239,
          testOnly: () => testnet,
          domainOf: () => null,
        });
        const texts: string[] = [];
        for (const { step } of steps) {
          const read = await reader.read(step.mcSeqno, signal);
          await read.load(WANTS, signal);
          for (const event of read.events) {
            const whole = notifier.bytes(event, HEARD, NOTHING_CHOSEN, read).toString();
            const pieces = notifier.pieces(event, HEARD, NOTHING_CHOSEN, read);
            expect(pieces.map(String).join('')).toBe(whole);
            texts.push(whole);
          }
        }
        return texts;
      };
      const texts = await told(formed);
      const types = new Set(texts.map((text) => JSON.parse(text).type));
      expect([...types].sort()).toEqual(['account_state_change', 'block', 'external_out', 'message', 'transactions']);
      expect(texts).toEqual(await told(rendered));
    });

    it.each(['/transactions?limit=1000', '/transactions?limit=1000&sort=asc&offset=100', '/messages?limit=1000'])(
      'are the same for all that there is: %s',
      async (path) => {
        const whole = await ask(formed, path);
        expect(whole.body.length).toBeGreaterThan(100_000);
        expect(whole).toEqual(await ask(rendered, path));
      },
    );

    it('render nothing that the window keeps', async () => {
      const count = async ({ metrics }: Side, outcome: string): Promise<number> => {
        return metricOf(await metrics.metrics(), `tonstream_api_rendered_transactions_total{outcome="${outcome}"}`);
      };
      expect(await count(formed, 'formed')).toBeGreaterThan(1_000);
      expect(await count(formed, 'made')).toBe(0);
      expect(await count(rendered, 'formed')).toBe(0);
    });
  },
);
