import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { useFedChain } from '../../test/feed-chain.ts';
import { createKeptPositions, openEvents, openSocket, serveFeed } from '../../test/feed-server.ts';
import { createNames } from './names.ts';

type Json = Record<string, unknown>;

const fed = useFedChain();

describe('a named subscription', () => {
  const named = { operation: 'subscribe', types: ['transactions', 'block'], everything: true, name: 'ledger' };
  const idsOf = (events: Json[]) => events.flatMap(({ event_id }) => event_id ?? []);

  it('goes on behind what was acknowledged, at another host, and begins where it was named first', async () => {
    await fed.start(10);
    const positions = createKeptPositions();
    const hosts = [await serveFeed(fed.chain, {}, positions), await serveFeed(fed.chain, {}, positions)];
    const first = await openSocket(hosts[0].port);
    first.send(named);
    await expect.poll(() => first.answers).toEqual([{ status: 'subscribed' }]);
    await fed.advanceTo(40);
    const all = await openEvents(fed.server.port, { ...named, name: undefined, from_mc_seqno: fed.chain.steps[11] });
    await expect.poll(() => all.events.at(-1)?.type).toBe('caught_up');
    all.close();
    const ids = idsOf(all.events);
    await expect.poll(() => idsOf(first.events)).toEqual(ids);
    first.close();

    const second = await openSocket(hosts[1].port);
    second.send(named);
    await expect.poll(() => idsOf(second.events)).toEqual(ids);
    for (const event of second.events.slice(0, 20)) second.send({ operation: 'ack', id: 'a', cursor: event.cursor });
    await expect.poll(() => second.answers.length).toBe(21);
    expect(second.answers.slice(1)).toEqual(Array(20).fill({ id: 'a', status: 'acked' }));
    second.close();

    const third = await openSocket(hosts[0].port);
    // That is no place to go on from: nothing between what was acknowledged and the last minute is left out for it.
    third.send({ ...named, replay_existing: true });
    await expect.poll(() => idsOf(third.events)).toEqual(ids.slice(20));
    third.close();
    const stranger = await openSocket(hosts[0].port, { 'x-limiting-key': 'k', 'x-max-parallel-connections': '9' });
    stranger.send(named);
    await expect.poll(() => stranger.answers.length).toBe(1);
    expect(idsOf(stranger.events)).toEqual([]);
    stranger.close();
    for (const host of hosts) await host.close();
  });

  it('belongs to the connection that has taken it last, at whatever host', async () => {
    await fed.start(10);
    const positions = createKeptPositions();
    const hosts = [await serveFeed(fed.chain, {}, positions), await serveFeed(fed.chain, {}, positions)];
    const [first, second] = [await openSocket(hosts[0].port), await openSocket(hosts[1].port)];
    for (const socket of [first, second]) {
      socket.send(named);
      await expect.poll(() => socket.answers).toEqual([{ status: 'subscribed' }]);
    }
    await fed.advanceTo(20);
    await expect.poll(() => idsOf(second.events).length).toBeGreaterThan(10);
    await expect.poll(() => idsOf(first.events).length).toBe(idsOf(second.events).length);
    const [tenth, last] = [second.events.filter(({ event_id }) => event_id)[9], first.events.at(-1)];
    second.send({ operation: 'ack', cursor: tenth.cursor });
    await expect.poll(() => second.answers.at(-1)).toEqual({ status: 'acked' });
    first.send({ operation: 'ack', id: 'late', cursor: last?.cursor });
    const lost = 'another connection has taken this name: subscribe again to have it back';
    await expect.poll(() => first.answers.at(-1)).toEqual({ id: 'late', error: lost });
    const third = await openSocket(hosts[0].port);
    third.send(named);
    await expect.poll(() => idsOf(third.events).length).toBeGreaterThan(0);
    expect(idsOf(third.events)[0]).toBe(idsOf(second.events)[10]);
    for (const socket of [first, second, third]) socket.close();
    for (const host of hosts) await host.close();
  });

  it('goes on behind what the same connection has acknowledged just before', async () => {
    await fed.start(10);
    const socket = await openSocket(fed.server.port);
    const own = { ...named, name: 'again' };
    socket.send(own);
    await expect.poll(() => socket.answers).toEqual([{ status: 'subscribed' }]);
    await fed.advanceTo(20);
    await expect.poll(() => idsOf(socket.events).length).toBeGreaterThan(10);
    const heard = idsOf(socket.events).length;
    socket.send({
      operation: 'ack',
      id: 'a',
      cursor: socket.events.filter(({ event_id }) => event_id)[heard - 1].cursor,
    });
    socket.send(own);
    await expect.poll(() => socket.answers.slice(1)).toEqual([{ id: 'a', status: 'acked' }, { status: 'subscribed' }]);
    expect(idsOf(socket.events)).toHaveLength(new Set(idsOf(socket.events)).size);
    socket.close();
  });

  it('has one owner when two connections take it at once', async () => {
    await fed.start(10);
    const positions = createKeptPositions();
    const { read } = positions;
    // Both have read before either is noted.
    positions.read = async (...asked) => {
      const found = await read(...asked);
      await sleep(50);
      return found;
    };
    // And draw the same.
    const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
    const host = await serveFeed(fed.chain, {}, positions);
    const sockets = [await openSocket(host.port), await openSocket(host.port)];
    for (const socket of sockets) socket.send(named);
    for (const { answers } of sockets) await expect.poll(() => answers).toEqual([{ status: 'subscribed' }]);
    await fed.advanceTo(20);
    for (const socket of sockets) await expect.poll(() => idsOf(socket.events).length).toBeGreaterThan(10);
    const acknowledge = async () => {
      for (const { send, events } of sockets) send({ operation: 'ack', cursor: events.at(-1)?.cursor });
      const answered = sockets[0].answers.length + 1;
      for (const { answers } of sockets) await expect.poll(() => answers.length).toBe(answered);
      return sockets.filter(({ answers }) => answers.at(-1)?.status === 'acked').length;
    };
    await acknowledge();
    expect(await acknowledge()).toBe(1);
    random.mockRestore();
    for (const socket of sockets) socket.close();
    await host.close();
  });

  it('begins behind what the one before was told to be acknowledged while it was taken', async () => {
    await fed.start(10);
    const positions = createKeptPositions();
    const hosts = [await serveFeed(fed.chain, {}, positions), await serveFeed(fed.chain, {}, positions)];
    const [first, second] = [await openSocket(hosts[0].port), await openSocket(hosts[1].port)];
    first.send(named);
    await expect.poll(() => first.answers).toEqual([{ status: 'subscribed' }]);
    await fed.advanceTo(20);
    await expect.poll(() => idsOf(first.events).length).toBeGreaterThan(20);
    const { read } = positions;
    const waiting: (() => void)[] = [];
    positions.read = async (...asked) => {
      positions.read = read;
      const found = await read(...asked);
      await new Promise<void>((resolve) => void waiting.push(resolve));
      return found;
    };
    second.send(named);
    await expect.poll(() => waiting.length).toBe(1);
    const told = first.events.filter(({ event_id }) => event_id);
    first.send({ operation: 'ack', cursor: told[19].cursor });
    await expect.poll(() => first.answers.at(-1)).toEqual({ status: 'acked' });
    waiting[0]();
    await expect.poll(() => second.heard.length).toBeGreaterThan(1);
    // Nothing of it is told before it is taken.
    expect(second.heard[0]).toEqual({ status: 'subscribed' });
    expect(second.events[0].event_id).toBe(told[20].event_id);
    first.send({ operation: 'ack', cursor: told[20].cursor });
    await expect.poll(() => first.answers.at(-1)).toHaveProperty('error');
    for (const socket of [first, second]) socket.close();
    for (const host of hosts) await host.close();
  });

  it('stays with a connection that cannot begin under another name', async () => {
    await fed.start(10);
    const positions = createKeptPositions();
    const host = await serveFeed(fed.chain, {}, positions);
    const socket = await openSocket(host.port);
    socket.send(named);
    await expect.poll(() => socket.answers).toEqual([{ status: 'subscribed' }]);
    await fed.advanceTo(12);
    await expect.poll(() => idsOf(socket.events).length).toBeGreaterThan(0);
    const { save } = positions;
    // Meanwhile somebody acknowledges what is no place any more.
    positions.save = async (all, ...how) => {
      positions.save = save;
      await save(all, ...how);
      await save([{ ...all[0], owner: all[0].owner.trimEnd(), cursor: 'gone' }], ...how);
    };
    socket.send({ ...named, name: 'other' });
    await expect.poll(() => socket.answers.length).toBe(2);
    expect(socket.answers[1]).toHaveProperty('error');
    socket.send({ operation: 'ack', id: 'a', cursor: socket.events.findLast(({ cursor }) => cursor)?.cursor });
    await expect.poll(() => socket.answers.at(-1)).toEqual({ id: 'a', status: 'acked' });
    socket.close();
    await host.close();
  });

  it('goes on behind the newest acknowledgement, though one that was given up is noted behind it', async () => {
    const positions = createKeptPositions();
    const names = createNames(positions);
    const { signal } = new AbortController();
    const taken = await names.take('k', 'ledger', await names.find('k', 'ledger', signal), () => 'a', signal);
    const { save } = positions;
    let arrive = async () => {};
    positions.save = async (...asked) => {
      positions.save = save;
      arrive = () => save(...asked);
      throw new Error('no answer within 5000 ms');
    };
    await expect(names.acknowledge('k', 'ledger', { ...taken, cursor: 'b' })).rejects.toThrow(/no answer/);
    await names.acknowledge('k', 'ledger', { ...taken, cursor: 'c' });
    await arrive();
    expect(await names.find('k', 'ledger', signal)).toEqual({ ...taken, cursor: 'c' });
  });

  it('is lost to who takes it while an acknowledgement is noted', async () => {
    const positions = createKeptPositions();
    const [names, others] = [createNames(positions), createNames(positions)];
    const { signal } = new AbortController();
    const take = async (by: typeof names) =>
      by.take('k', 'ledger', await by.find('k', 'ledger', signal), (acknowledged) => acknowledged ?? 'a', signal);
    const first = await take(names);
    const { save } = positions;
    let taken = first;
    positions.save = async (...asked) => {
      positions.save = save;
      taken = await take(others);
      return save(...asked);
    };
    await expect(names.acknowledge('k', 'ledger', { ...first, cursor: 'b' })).rejects.toThrow(/has taken this name/);
    expect(taken.cursor).toBe('a');
    expect(taken.session).toBeGreaterThan(first.session);
    expect(await names.find('k', 'ledger', signal)).toEqual(taken);
  });

  it('is for WebSocket, and what cannot be acknowledged is said', async () => {
    await fed.start(10);
    const response = await fetch(`http://127.0.0.1:${fed.server.port}/api/streaming/v2/sse`, {
      method: 'POST',
      body: JSON.stringify({ ...named, name: 'x' }),
    });
    expect(await response.json()).toEqual({ error: 'name is for WebSocket connections' });
    const socket = await openSocket(fed.server.port);
    socket.send({ operation: 'ack', id: '1', cursor: 'AAAA' });
    socket.send({ ...named, name: 'a b' });
    socket.send(named);
    socket.send({ operation: 'ack', id: '2', cursor: 'AAAA' });
    socket.send({ operation: 'ack', id: '3' });
    await expect.poll(() => socket.answers.length).toBe(5);
    expect(socket.answers).toEqual([
      { id: '1', error: 'ack requires a subscription with a name' },
      { error: 'invalid subscribe request: name: must be 1 to 100 letters, digits or _ . : -' },
      { status: 'subscribed' },
      { id: '2', error: 'cursor is not one of this service: give it as it came' },
      { id: '3', error: expect.stringMatching(/^invalid ack request: cursor: /) },
    ]);
    socket.close();
  });
});
