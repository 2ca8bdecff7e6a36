import { describe, expect, it, vi } from 'vitest';
import { hashOf, told, useFedChain } from '../../test/feed-chain.ts';
import { openEvents, openSocket } from '../../test/feed-server.ts';
import { rawAddress } from '../chain/address.ts';
import type { Address } from '../chain/model.ts';
import { encodeCursor, endOf } from './place.ts';
import { readBody } from './protocol.ts';

const fed = useFedChain();
/** Of the recorded chain. */
const GLOBAL_ID = -239;
const CONTEXT = { signal: new AbortController().signal, timeoutMs: 1_000 };

type Json = Record<string, unknown>;

describe.each(['ws', 'sse'] as const)('a subscriber over %s', (transport) => {
  async function listen(subscription: Json) {
    if (transport === 'sse') return openEvents(fed.server.port, subscription);
    const socket = await openSocket(fed.server.port);
    socket.send({ operation: 'subscribe', ...subscription });
    await expect.poll(() => socket.answers.length).toBe(1);
    return socket;
  }

  it('is told of the transactions of its account once, in order', async () => {
    await fed.start(10);
    const { address, transactions } = fed.busiest(11, 60);
    const own = { types: ['transactions'], addresses: [address], finality_scope: 'transaction' };
    const listener = await listen({ id: 'a', ...own });
    await expect.poll(() => listener.answers).toEqual([{ id: 'a', status: 'subscribed' }]);
    await fed.advanceTo(60);
    await expect.poll(() => told(listener.events).length).toBe(transactions.length);
    expect(told(listener.events)).toEqual(transactions);
    const [first] = listener.events;
    expect(Object.keys(first)).toEqual(['type', 'finality', 'trace_external_hash_norm', 'transactions']);
    listener.close();
  });

  it('hears everything from the first step on, then what comes', async () => {
    await fed.start(40);
    const listener = await listen({ types: ['transactions', 'block'], everything: true, from_mc_seqno: 0 });
    await expect.poll(() => listener.events.at(-1)?.type).toBe('caught_up');
    expect(told(listener.events)).toEqual(fed.hashes(0, 41));
    await fed.advanceTo(80);
    await expect.poll(() => told(listener.events).length).toBe(fed.hashes(0, 80).length);
    expect(told(listener.events)).toEqual(fed.hashes(0, 80));
    const cursors = listener.events.map(({ cursor }) => cursor);
    expect(new Set(cursors).size).toBe(cursors.length);
    listener.close();
  });

  it('goes on behind any cursor, whatever was cut there', async () => {
    await fed.start(60);
    const whole = await listen({
      types: ['transactions', 'account_state_change', 'message', 'block'],
      everything: true,
      from_mc_seqno: 0,
    });
    await expect.poll(() => whole.events.at(-1)?.type).toBe('caught_up');
    whole.close();
    const ids = whole.events.slice(0, -1).map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(ids.length);
    for (let at = 0; at < ids.length; at += Math.ceil(ids.length / 12)) {
      const from_cursor = whole.events[at].cursor;
      const rest = await listen({
        types: ['transactions', 'account_state_change', 'message', 'block'],
        everything: true,
        from_cursor,
      });
      await expect.poll(() => rest.events.at(-1)?.type).toBe('caught_up');
      expect(rest.events.slice(0, -1).map(({ event_id }) => event_id)).toEqual(ids.slice(at + 1));
      rest.close();
    }
  });

  it('names what is wrong with a subscription', async () => {
    await fed.start(1);
    const suffix = transport === 'sse' ? ' for subscription' : '';
    const wrong: [Json, string][] = [
      [{}, `types are required${suffix}`],
      [{ types: ['x'] }, 'invalid event type: x'],
      [{ types: ['transactions'] }, `addresses are required${suffix}`],
      [{ types: ['trace_invalidated'] }, `addresses are required${suffix}`],
      [{ types: ['transactions'], addresses: ['nonsense'] }, 'invalid address: nonsense'],
      [{ types: ['trace'] }, 'trace_external_hash_norms are required for trace subscription'],
      [
        { types: ['actions', 'state_invalidated'], addresses: ['nonsense'] },
        'state_invalidated requires type "account_state_change" or "jettons_change"',
      ],
      [{ types: ['block'], trace_external_hash_norms: ['a'] }, 'trace_external_hash_norms requires type "trace"'],
      [{ types: ['trace'], trace_external_hash_norms: [' '] }, 'trace_external_hash_norms contains empty value'],
      // What is said of traces comes before what is missing of addresses.
      [
        { types: ['transactions'], trace_external_hash_norms: ['a'] },
        'trace_external_hash_norms requires type "trace"',
      ],
      [{ types: ['trace', 'actions'] }, 'trace_external_hash_norms are required for trace subscription'],
      [
        { types: ['block'], from_mc_seqno: 1, replay_existing: true },
        'give one of from_cursor, from_mc_seqno, from_utime and replay_existing',
      ],
      [{ types: ['block'], from_cursor: 'AAAA' }, 'cursor is not one of this service: give it as it came'],
    ];
    for (const [subscription, error] of wrong) {
      if (transport === 'ws') {
        const socket = await listen({ id: 'i', ...subscription });
        expect(socket.answers).toEqual([{ id: 'i', error }]);
        socket.close();
      } else {
        const response = await fetch(`http://127.0.0.1:${fed.server.port}/api/streaming/v2/sse`, {
          method: 'POST',
          body: JSON.stringify({ id: 'i', ...subscription }),
        });
        expect(response.status).toBe(400);
        expect(await response.json()).toEqual({ id: 'i', error });
      }
    }
  });

  it('takes the type that is told to whoever heard of a trace, also by itself', async () => {
    await fed.start(1);
    const { address } = fed.busiest(0, 60);
    const listener = await listen({ types: ['trace_invalidated'], addresses: [address], min_finality: 'pending' });
    await expect.poll(() => listener.answers).toEqual([{ status: 'subscribed' }]);
    listener.close();
  });

  it('takes what is null for left out', async () => {
    await fed.start(1);
    const { address } = fed.busiest(0, 60);
    const nothing = {
      id: null,
      trace_external_hash_norms: null,
      min_finality: null,
      include_address_book: null,
      include_metadata: null,
      action_types: null,
      supported_action_types: null,
    };
    const listener = await listen({ types: ['transactions'], addresses: [address], ...nothing });
    await expect.poll(() => listener.answers).toEqual([{ status: 'subscribed' }]);
    listener.close();
  });

  it('is told first of what there was in the last minute where it asks for that, without cursors', async () => {
    await fed.start(60);
    const { last } = (await fed.chain.source.masterchainInfo(CONTEXT))!;
    const now = last.header.genUtime + 50;
    vi.useFakeTimers({ toFake: ['Date'], now: now * 1000 });
    const blocks = {
      workchain: -1,
      utime: { start: now - 60 },
      lt: {},
      sort: 'asc',
      page: { limit: 1, offset: 0 },
    } as const;
    const [{ mcSeqno }] = (await fed.chain.source.blocks(blocks, CONTEXT)).rows;
    const existing = fed.hashes(fed.chain.steps.indexOf(mcSeqno), 61);
    const own = { types: ['transactions'], everything: true };
    const listener = await listen({ ...own, replay_existing: true });
    await expect.poll(() => told(listener.events)).toEqual(existing);
    vi.useRealTimers();
    expect(existing.length).toBeGreaterThan(0);
    expect(existing.length).toBeLessThan(fed.hashes(0, 61).length);
    await fed.advanceTo(70);
    await expect.poll(() => told(listener.events)).toEqual([...existing, ...fed.hashes(61, 70)]);
    for (const event of listener.events) {
      expect(Object.keys(event)).toEqual(['type', 'finality', 'trace_external_hash_norm', 'transactions']);
    }
    listener.close();
  });

  it('adds what was asked for and nothing else', async () => {
    await fed.start(10);
    const { address } = fed.busiest(11, 60);
    const domainOf = (account: Address) => (rawAddress(account) === address ? 'alice.ton' : null);
    fed.chain.source.contracts = { ...fed.chain.source.contracts, domainOf };
    const listener = await listen({
      types: ['transactions', 'account_state_change'],
      addresses: [address],
      include_address_book: true,
      include_metadata: true,
    });
    await fed.advanceTo(60);
    await expect.poll(() => listener.events.some(({ type }) => type === 'account_state_change')).toBe(true);
    for (const event of listener.events) {
      const beside = event.type === 'transactions' ? ['address_book', 'metadata'] : [];
      expect(Object.keys(event).filter((name) => beside.includes(name))).toEqual(beside);
      if (event.type === 'transactions') expect(event.address_book).toHaveProperty([address, 'domain'], 'alice.ton');
      expect(event).not.toHaveProperty('cursor');
    }
    listener.close();
  });
});

describe('history of a few accounts', () => {
  it('is told as it is step by step, and only their steps are read', async () => {
    await fed.start(fed.chain.steps.length - 1);
    const counts = new Map<string, number[]>();
    for (const step of fed.chain.steps) {
      for (const { transaction } of fed.chain.transactionsOf(step)) {
        const address = rawAddress(transaction.account);
        counts.set(address, [...(counts.get(address) ?? []), step]);
      }
    }
    const rare = [...counts].sort((a, b) => new Set(a[1]).size - new Set(b[1]).size).slice(0, 3);
    const types = ['transactions', 'account_state_change', 'external_out'];
    const addresses = rare.map(([address]) => address);
    const few = await openEvents(fed.server.port, { types, addresses, from_mc_seqno: 1 });
    await expect.poll(() => few.events.at(-1)?.type).toBe('caught_up');
    few.close();
    // What is near the head is read step by step.
    const own = new Set(rare.flatMap(([, steps]) => steps));
    const read = new Set(fed.chain.asked.steps.filter((step) => step < fed.chain.head.seqno - 32));
    expect([...read].filter((step) => !own.has(step) && step > 0)).toEqual([]);
    const all = await openEvents(fed.server.port, { types: [...types, 'message'], addresses, from_mc_seqno: 1 });
    await expect.poll(() => all.events.at(-1)?.type).toBe('caught_up');
    all.close();
    const idsOf = (events: Json[]) => events.filter(({ type }) => type !== 'message').map(({ event_id }) => event_id);
    expect(idsOf(few.events)).toEqual(idsOf(all.events));
    expect(few.events.length).toBeGreaterThan(3);
  });
});

describe('a process that is behind another', () => {
  it('tells nothing again to whoever has heard more there', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { transactions } = fed.chain.source;
    let holds = false;
    fed.chain.source.transactions = async (...asked) => {
      if (holds) await held;
      return transactions(...asked);
    };
    await fed.start(10);
    const socket = await openSocket(fed.server.port);
    socket.send({ operation: 'subscribe', id: 'a', types: ['transactions'], everything: true });
    await expect.poll(() => socket.answers.length).toBe(1);
    // Its head moves on, and the first step is still being read for those who listen.
    holds = true;
    await fed.advanceTo(40);
    const other = await openSocket(fed.server.port);
    const subscription = { types: ['transactions'], everything: true, from_mc_seqno: fed.chain.steps[30] };
    other.send({ operation: 'subscribe', id: 'b', ...subscription });
    await expect.poll(() => other.answers.length).toBe(1);
    holds = false;
    release();
    await fed.advanceTo(60);
    await expect.poll(() => told(socket.events).length).toBe(fed.hashes(11, 60).length);
    expect(told(socket.events)).toEqual(fed.hashes(11, 60));
    expect(told(other.events)).toEqual(fed.hashes(30, 60));
    socket.close();
    other.close();
  });
});

describe('a host whose head is behind that of another', () => {
  it('goes on behind a cursor of the other one, with what comes after it', async () => {
    await fed.start(40);
    const socket = await openSocket(fed.server.port);
    const cursor = encodeCursor(GLOBAL_ID, endOf(fed.chain.steps[60]));
    const subscription = { types: ['transactions'], everything: true, from_cursor: cursor };
    socket.send({ operation: 'subscribe', id: 'a', ...subscription });
    await expect.poll(() => socket.answers).toMatchObject([{ status: 'subscribed' }]);
    for (const head of [50, 61, 80]) await fed.advanceTo(head);
    await expect.poll(() => told(socket.events).length).toBe(fed.hashes(61, 80).length);
    expect(told(socket.events)).toEqual(fed.hashes(61, 80));
    socket.close();
  });

  it('refuses a cursor that is too far ahead for that', async () => {
    await fed.start(1);
    const socket = await openSocket(fed.server.port);
    const cursor = encodeCursor(GLOBAL_ID, endOf(fed.chain.steps[0] + 100_000));
    socket.send({ operation: 'subscribe', id: 'a', types: ['block'], from_cursor: cursor });
    await expect
      .poll(() => socket.answers)
      .toEqual([{ id: 'a', error: 'cursor is of a step far above the newest that this service has seen' }]);
    socket.close();
  });
});

describe('an event that cannot be told', () => {
  it('is reported, and hides nothing else of its step', async () => {
    await fed.start(10);
    const listener = await openEvents(fed.server.port, { types: ['transactions'], everything: true });
    await expect.poll(() => listener.answers.length).toBe(1);
    const at = fed.chain.steps.findIndex((step, i) => i > 10 && fed.chain.transactionsOf(step).length > 2);
    const [first] = fed.chain.transactionsOf(fed.chain.steps[at]);
    const expected = fed.hashes(11, at + 2).filter((hash) => hash !== hashOf(first));
    const { transaction } = first;
    const broken = (): never => {
      throw new Error('it is broken');
    };
    first.transaction = new Proxy(transaction, {
      get: (of, name) => (name === 'description' ? broken() : Reflect.get(of, name, of)),
    });
    await fed.advanceTo(at + 2);
    await expect.poll(() => told(listener.events), { timeout: 4_000 }).toEqual(expected);
    expect(fed.server.failures.splice(0).map(String)).toEqual(['Error: it is broken']);
    listener.close();
  });
});

describe('many who take nothing', () => {
  it('keep nobody from being told of what was', async () => {
    await fed.start(40, { stallMs: 600_000 });
    const { feed } = fed.server.streaming;
    const subscription: Json = { types: ['transactions'], everything: true, from_mc_seqno: 0 };
    const read = readBody(JSON.stringify(subscription)).subscription;
    let told = 0;
    const takesNothing = { write: () => ++told < 0, onRoom: () => undefined, end: () => undefined };
    for (let i = 0; i < 20; i++) await feed.subscribe(feed.open(takesNothing), read, new AbortController().signal);
    const listener = await openEvents(fed.server.port, subscription);
    await expect.poll(() => listener.events.at(-1)?.type).toBe('caught_up');
    expect(told).toBe(20);
    expect(feed.figures.behind).toBe(20);
    listener.close();
  });
});

describe('the head', () => {
  it('is told to those who asked, with a cursor to go on from', async () => {
    await fed.start(20);
    const socket = await openSocket(fed.server.port);
    socket.send({ operation: 'subscribe', types: ['block'], head_seconds: 1 });
    await expect.poll(() => socket.events.at(-1)).toMatchObject({ type: 'head', mc_seqno: fed.chain.steps[20] });
    const { cursor } = socket.events.at(-1) ?? {};
    socket.send({ operation: 'subscribe', types: ['block'], from_cursor: cursor });
    await expect.poll(() => socket.events.at(-1)?.type).toBe('caught_up');
    socket.close();
  });

  it('is told on when the clock was set back', async () => {
    await fed.start(20);
    const socket = await openSocket(fed.server.port);
    socket.send({ operation: 'subscribe', types: ['block'], head_seconds: 1 });
    await expect.poll(() => socket.events.length).toBe(1);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
    await expect.poll(() => socket.events.length).toBeGreaterThan(2);
    vi.useRealTimers();
    socket.close();
  });
});

describe('a subscription', () => {
  const read = (subscription: Json) => readBody(JSON.stringify(subscription)).subscription;

  it('names a trace in any form that hashes have', () => {
    const hash = Buffer.from('fb'.repeat(32), 'hex');
    const forms = [hash.toString('base64'), `${hash.toString('base64url')}=`, hash.toString('hex')];
    const { traceHashes } = read({ types: ['trace'], trace_external_hash_norms: forms });
    expect([...traceHashes]).toEqual([hash.toString('base64')]);
  });

  it.each([
    [
      { types: ['actions'], addresses: [`0:${'1'.repeat(64)}`] },
      'msg_body_hash requires addresses and type "transactions"',
    ],
    [
      {
        types: ['trace', 'transactions'],
        trace_external_hash_norms: ['a'],
        addresses: [`0:${'1'.repeat(64)}`],
        msg_body_hash: 'x',
      },
      'invalid msg_body_hash',
    ],
  ])('to the body of a message is refused: %j', (subscription, error) => {
    expect(() => read({ msg_body_hash: '1'.repeat(64), ...subscription })).toThrow(error);
  });
});

describe('filters', () => {
  const all = { operation: 'subscribe', types: ['transactions'], from_mc_seqno: 0, everything: true };
  const passing = async (filter: Json) => {
    const socket = await openSocket(fed.server.port);
    socket.send({ ...all, ...filter });
    await expect.poll(() => socket.events.at(-1)?.type).toBe('caught_up');
    socket.close();
    return told(socket.events);
  };
  const records = () => fed.chain.steps.flatMap((step) => fed.chain.transactionsOf(step));

  it('pass by the body of the message the transactions alone', async () => {
    await fed.start(fed.chain.steps.length - 1);
    const { inMsg } = records().find(({ transaction: t }) => t.inMsg !== null)!.transaction;
    const bodyHash = inMsg!.bodyHash;
    const own = records().filter(({ transaction: t }) => t.inMsg?.bodyHash.equals(bodyHash));
    for (const msg_body_hash of [bodyHash.toString('hex'), bodyHash.toString('base64')]) {
      for (const finality_scope of ['transaction', 'trace']) {
        const types = ['transactions', 'account_state_change'];
        const socket = await openSocket(fed.server.port);
        socket.send({ ...all, types, msg_body_hash, finality_scope });
        await expect.poll(() => socket.events.at(-1)?.type).toBe('caught_up');
        socket.close();
        expect(new Set(told(socket.events))).toEqual(new Set(own.map(hashOf)));
        expect(socket.events.filter(({ type }) => type === 'account_state_change').length).toBeGreaterThan(own.length);
      }
    }
  });

  it('pass by workchain, opcode, value and direction what the chain says', async () => {
    await fed.start(fed.chain.steps.length - 1);
    const { inMsg } = records().find(({ transaction: t }) => (t.inMsg?.opcode ?? 0) > 0)!.transaction;
    const opcode = inMsg?.opcode ?? 0;
    const where = (test: (record: ReturnType<typeof records>[number]) => boolean) => records().filter(test).map(hashOf);
    const value = 10n ** 9n;
    expect(await passing({ workchain: 0 })).toEqual(where(({ block }) => block.workchain === 0));
    expect(await passing({ opcodes: [`0x${opcode.toString(16)}`] })).toEqual(
      where(({ transaction: t }) => t.inMsg?.opcode === opcode),
    );
    expect(await passing({ min_value: String(value) })).toEqual(
      where(({ transaction: t }) => BigInt(t.inMsg?.value ?? -1) >= value),
    );
    expect(await passing({ direction: 'out' })).toEqual(where(({ transaction: t }) => t.outMsgs.length > 0));
  });
});
