import { describe, expect, it } from 'vitest';
import { told, useFedChain } from '../../test/feed-chain.ts';
import { openSocket } from '../../test/feed-server.ts';
import { rawAddress } from '../chain/address.ts';

const fed = useFedChain();

describe('streaming v1', () => {
  const rawOf = (step: number): string[] =>
    fed.chain.transactionsOf(fed.chain.steps[step]).map((record) => rawAddress(record.transaction.account));

  it('has types by address, and says nothing of levels', async () => {
    await fed.start(10);
    const { address, transactions } = fed.busiest(11, 60);
    const other = [...new Set(Array.from({ length: 49 }, (_, i) => rawOf(i + 11)).flat())].find(
      (one) => one !== address,
    );
    const socket = await openSocket(fed.server.port, {}, 'v1');
    socket.send({ operation: 'subscribe', id: '1', addresses: [address], types: ['transactions'] });
    socket.send({ operation: 'subscribe', id: '2', addresses: [other], types: ['account_state_change', 'actions'] });
    socket.send({ operation: 'configure', id: '3', include_address_book: true });
    await expect
      .poll(() => socket.answers)
      .toEqual([
        { id: '1', status: 'subscribed' },
        { id: '2', status: 'subscribed' },
        { id: '3', status: 'configured' },
      ]);
    await fed.advanceTo(60);
    await expect.poll(() => told(socket.events)).toEqual(transactions);
    const [first] = socket.events.filter(({ type }) => type === 'transactions');
    expect(Object.keys(first)).toEqual(['type', 'trace_external_hash_norm', 'transactions', 'address_book']);
    const states = socket.events.filter(({ type }) => type === 'account_state_change');
    expect(new Set(states.map(({ account }) => account))).toEqual(new Set([other]));
    socket.close();
  });

  it('sets all at once, and takes away', async () => {
    await fed.start(10);
    const { address, transactions } = fed.busiest(11, 60);
    const socket = await openSocket(fed.server.port, {}, 'v1');
    socket.send({ operation: 'subscribe', addresses: [`0:${'1'.repeat(64)}`], types: ['transactions'] });
    socket.send({ operation: 'set_subscription', subscriptions: { [address]: ['transactions', 'pending_actions'] } });
    socket.send({ operation: 'set_subscription', subscriptions: { [address]: ['trace'] } });
    socket.send({ operation: 'unsubscribe', addresses: [] });
    // Nothing to add is no mistake, nor an address of which nothing is heard.
    socket.send({ operation: 'subscribe', addresses: [], types: ['transactions'] });
    socket.send({ operation: 'subscribe', addresses: [`0:${'1'.repeat(64)}`] });
    socket.send({
      ...{ operation: 'set_subscription' },
      subscriptions: { [address]: ['transactions', 'pending_actions'], [`0:${'1'.repeat(64)}`]: [] },
    });
    socket.sendText('{');
    await expect
      .poll(() => socket.answers)
      .toEqual([
        { status: 'subscribed' },
        { status: 'subscription_set' },
        { error: 'invalid event type: trace' },
        { error: 'addresses are required' },
        { status: 'subscribed' },
        { status: 'subscribed' },
        { status: 'subscription_set' },
        { error: expect.stringMatching(/^invalid subscription request: /) },
      ]);
    await fed.advanceTo(30);
    const some = fed.hashes(11, 30).filter((hash) => transactions.includes(hash));
    await expect.poll(() => told(socket.events)).toEqual(some);
    socket.send({ operation: 'unsubscribe', addresses: [address] });
    await expect.poll(() => socket.answers.at(-1)).toEqual({ status: 'unsubscribed' });
    await fed.advanceTo(60);
    expect(told(socket.events)).toEqual(some);
    socket.close();
  });

  it('names what is wrong with a body as TON Center does', async () => {
    await fed.start(1);
    const refusalOf = async (body: object) => {
      const url = `http://127.0.0.1:${fed.server.port}/api/streaming/v1/sse`;
      const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) });
      expect(response.status).toBe(400);
      return await response.json();
    };
    const addresses = [`0:${'1'.repeat(64)}`];
    expect(await refusalOf({ id: 'a' })).toEqual({ id: 'a', error: 'addresses are required for subscribe operation' });
    expect(await refusalOf({ addresses })).toEqual({ error: 'types are required for subscribe operation' });
  });
});
