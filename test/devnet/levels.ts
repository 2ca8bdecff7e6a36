/**
 * What the streams of a running service tell of sent messages, from the moment they are sent to the moment they are
 * final.
 */
import { beginCell, external, internal, storeMessage } from '@ton/core';
import { expect, it } from 'vitest';
import { z } from 'zod';
import * as schemas from '../../src/api/v3/schemas.ts';
import { openEvents, openSocket } from '../feed-server.ts';
import { type Stack, until } from '../stack.ts';
import { demoWallet } from './wallets.ts';

const TRACES = 3;
const LEVELS = ['pending', 'confirmed', 'finalized'];

const told = z.looseObject({
  type: z.string(),
  finality: z.enum(['pending', 'confirmed', 'finalized']).optional(),
  trace_external_hash_norm: z.string().optional(),
  event_id: z.string().optional(),
  transactions: z.array(schemas.transaction).optional(),
  actions: z.array(z.looseObject({ action_id: z.string() })).optional(),
});
type Told = z.output<typeof told>;

/** A transfer of the wallet that `start` tells of. Gives the normalised hash of its message. */
export async function send(stack: Stack): Promise<string> {
  const { wallet, secretKey } = demoWallet(stack.program.output());
  const known = await fetch(`${stack.url}/api/v3/walletInformation?address=${wallet.address.toString()}`);
  const { seqno } = z.object({ seqno: z.number() }).parse(await known.json());
  const messages = [internal({ to: wallet.address, value: 1_000_000n, bounce: false })];
  const body = wallet.createTransfer({ seqno, secretKey, messages });
  const message = beginCell().store(storeMessage(external({ to: wallet.address, body })));
  const boc = message.endCell().toBoc().toString('base64');
  const response = await fetch(`${stack.url}/api/v3/message`, { method: 'POST', body: JSON.stringify({ boc }) });
  return z.object({ message_hash_norm: z.string() }).parse(await response.json()).message_hash_norm;
}

const rise = (events: readonly Told[], type: string): number[] =>
  events.filter((event) => event.type === type).map(({ finality }) => LEVELS.indexOf(finality ?? ''));

const isEnd = ({ type, finality }: Told): boolean => type === 'trace_invalidated' || finality === 'finalized';

/** What was told of each trace that was told of before it was final, in order. */
function storiesOf(events: readonly Told[]): Map<string, Told[]> {
  const stories = new Map<string, Told[]>();
  for (const event of events) {
    const { trace_external_hash_norm: hash = '' } = event;
    if (hash === '' || (event.finality === 'finalized' && !stories.has(hash))) continue;
    stories.set(hash, [...(stories.get(hash) ?? []), event]);
  }
  return stories;
}

async function stored(stack: Stack, hash: string) {
  const query = `traces?msg_hash=${encodeURIComponent(hash)}&include_actions=true`;
  const response = await fetch(`${stack.url}/api/v3/${query}`);
  return schemas.traces.parse(await response.json()).traces;
}

export function describeLevels(stack: () => Stack): void {
  it('tells every sent message at rising levels and to one end, and what is final as it is stored', async () => {
    const port = Number(new URL(stack().url).port);
    const types = ['transactions', 'actions', 'account_state_change'];
    const common = { everything: true, min_finality: 'pending', with_cursor: true };
    const socket = await openSocket(port);
    socket.send({ operation: 'subscribe', types, ...common });
    const alone = await openEvents(port, { types: ['transactions'], ...common, finality_scope: 'transaction' });
    await until('the subscription', async () => (socket.answers.length > 0 ? true : null));
    const own = await send(stack());
    const heard = (): Told[] => socket.events.map((event) => told.parse(event));
    // On a busy machine a block may be quicker than what would be told of its messages before.
    const begun = await until('pending traces, one of them final, and the end of the message sent', async () => {
      const now = storiesOf(heard());
      const ends = heard()
        .filter(isEnd)
        .map(({ trace_external_hash_norm: hash }) => hash);
      const isFinal = [...now.values()].some((story) => story.some(({ finality }) => finality === 'finalized'));
      return now.size >= TRACES && isFinal && ends.includes(own) ? [...now.keys()] : null;
    });
    const stories = await until('an end of all that was pending', async () => {
      const now = storiesOf(heard());
      return begun.every((hash) => now.get(hash)?.some(isEnd)) ? now : null;
    });
    const count = { final: 0, invalidated: 0, confirmed: 0 };
    for (const hash of begun) {
      const story = stories.get(hash) ?? [];
      for (const type of ['transactions', 'actions']) {
        const levels = rise(story, type);
        expect(levels, hash).toEqual([...levels].sort());
      }
      const ends = new Set(story.filter(isEnd).map(({ type }) => (type === 'trace_invalidated' ? type : 'finalized')));
      expect(ends.size, JSON.stringify(story)).toBe(1);
      expect(story.findLastIndex((event) => !isEnd(event))).toBeLessThan(story.findIndex(isEnd));
      if (rise(story, 'transactions').includes(1)) count.confirmed++;
      const [trace, ...more] = await stored(stack(), hash);
      expect(more).toEqual([]);
      if (ends.has('trace_invalidated')) {
        count.invalidated++;
        expect(story.filter(isEnd).length).toBe(1);
        expect(trace).toBeUndefined();
        continue;
      }
      count.final++;
      const final = story.filter(({ type, finality }) => type === 'transactions' && finality === 'finalized');
      expect(final.length).toBe(1);
      const all = Object.fromEntries((final[0].transactions ?? []).map((one) => [one.hash, one]));
      expect(all).toEqual(trace.transactions);
    }
    // Each by itself: to the same end, and no level twice or behind a higher one.
    const single = storiesOf(alone.events.map((event) => told.parse(event)));
    for (const [hash, story] of single) {
      if (!begun.includes(hash)) continue;
      const marks = story.flatMap(({ finality, transactions = [] }) => transactions.map((one) => [finality, one.hash]));
      expect(new Set(marks.map(String)).size, hash).toBe(marks.length);
      const levels = new Map<string, number>();
      for (const [finality = '', of = ''] of marks) {
        expect(LEVELS.indexOf(finality)).toBeGreaterThan(levels.get(of) ?? -1);
        levels.set(of, LEVELS.indexOf(finality));
      }
    }
    // None twice; what else was told of the same traces says how it came about.
    const ids = heard().flatMap(({ event_id: id }) => (id === undefined ? [] : [id]));
    const twice = new Set(ids.filter((id, at) => ids.indexOf(id) < at));
    const again = heard().filter(({ event_id: id = '' }) => twice.has(id));
    const about = new Set(again.map(({ trace_external_hash_norm: hash }) => hash));
    const beside = heard().filter(({ trace_external_hash_norm: hash }) => about.has(hash));
    expect(again, JSON.stringify(beside).slice(0, 50_000)).toEqual([]);
    process.stdout.write(
      `levels: ${begun.length} traces, ${count.confirmed} confirmed as a whole, ${count.final} final, ` +
        `${count.invalidated} invalidated\n`,
    );
    expect(count.final).toBeGreaterThan(0);
    socket.close();
    alone.close();
  });
}
