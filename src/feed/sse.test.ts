import { describe, expect, it } from 'vitest';
import { useFedChain } from '../../test/feed-chain.ts';
import { openEvents } from '../../test/feed-server.ts';

const fed = useFedChain();

describe('a body of server-sent events', () => {
  async function refusalOf(body: string, headers: Record<string, string> = {}) {
    const url = `http://127.0.0.1:${fed.server.port}/api/streaming/v2/sse`;
    const response = await fetch(url, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  }

  it('names a body that cannot be read', async () => {
    await fed.start(1);
    for (const body of ['{', JSON.stringify({ types: 'transactions' }), JSON.stringify({ id: 5 })]) {
      expect(await refusalOf(body)).toEqual({
        status: 400,
        body: { error: expect.stringMatching(/^invalid subscription request: /) },
      });
    }
  });

  it('may be of as many addresses as its key is told, of none where it is told nothing, of all where it is told -1', async () => {
    await fed.start(1);
    const { address } = fed.busiest(0, 60);
    const subscription = { id: 'i', types: ['transactions'], addresses: [address] };
    const key = { 'x-limiting-key': 'k', 'x-max-parallel-connections': '-1' };
    for (const headers of [{ ...key, 'x-max-subscribed-addr': '0' }, key]) {
      expect(await refusalOf(JSON.stringify(subscription), headers)).toEqual({
        status: 400,
        body: { id: 'i', error: 'too many addresses: 1 > max 0' },
      });
    }
    for (const most of ['1', '-1']) {
      const headers = { ...key, 'x-max-subscribed-addr': most };
      const listener = await openEvents(fed.server.port, subscription, headers);
      await expect.poll(() => listener.answers).toEqual([{ id: 'i', status: 'subscribed' }]);
      listener.close();
    }
  });
});

describe('server-sent events', () => {
  it('resume by Last-Event-ID, asked for by GET', async () => {
    await fed.start(30);
    const first = await openEvents(fed.server.port, 'types=transactions,block&everything=true&from_mc_seqno=1');
    await expect.poll(() => first.events.at(-1)?.type).toBe('caught_up');
    first.close();
    expect(first.ids).toEqual(first.events.slice(0, -1).map(({ cursor }) => cursor));
    const half = Math.floor(first.ids.length / 2);
    const second = await openEvents(fed.server.port, 'types=transactions,block&everything=true', {
      'last-event-id': first.ids[half],
    });
    await expect.poll(() => second.events.at(-1)?.type).toBe('caught_up');
    expect(second.ids).toEqual(first.ids.slice(half + 1));
    second.close();
  });
});
