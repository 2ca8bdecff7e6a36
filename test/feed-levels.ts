/**
 * What the feed tells of a trace before it is final, held to the protocol over all transports and any log: a recorded
 * trace whose three transactions are put into three steps, and what the tracker would say of it, through its topic.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rawAddress } from '../src/chain/address.ts';
import { endOf } from '../src/feed/place.ts';
import { readBody } from '../src/feed/protocol.ts';
import { openSocket } from './feed-server.ts';
import {
  account,
  advance,
  begin,
  chain,
  comesWithActions,
  cursorOf,
  end,
  everywhere,
  expectHeard,
  FOR_WHOM,
  heard,
  heardAndGone,
  type Json,
  type LevelsLog,
  type Listener,
  leave,
  listeners,
  listenTo,
  PATIENT,
  records,
  say,
  server,
  steps,
  TRANSPORTS,
  type Transport,
  traceHash,
  typesOf,
} from './levels-stage.ts';

/**
 * @param open gives the log, of which each test takes a topic of its own
 * @param transports over which it is told whatever all of them tell alike
 */
export function describeLevels(
  name: string,
  open: () => LevelsLog,
  transports: readonly Transport[] = TRANSPORTS,
): void {
  describe.each(transports)(`levels over ${name}, told over %s`, (transport) => {
    const listen = (subscription: Json): Promise<Listener> => listenTo(transport, subscription);
    beforeEach(() => begin(open()));
    afterEach(end);

    it('tells a trace at every level as a whole, each level once, and final as it is stored', async () => {
      // Who is no stream of the protocol hears each by itself, unless it says otherwise.
      const together = transport === 'webhook' ? { finality_scope: 'trace' } : {};
      const alone = transport === 'webhook' ? {} : { finality_scope: 'transaction' };
      const [all, sure, final, single] = [
        await listen({ types: ['transactions'], addresses: everywhere(), min_finality: 'pending' }),
        await listen({ types: ['transactions'], addresses: everywhere(), min_finality: 'confirmed' }),
        await listen({ types: ['transactions'], addresses: everywhere(), ...together }),
        await listen({ types: ['transactions'], addresses: everywhere(), ...alone }),
      ];
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      await advance(0);
      await say(['finalized', 'confirmed', 'confirmed']);
      await advance(1);
      await advance(2);
      await say(['finalized', 'finalized', 'finalized']);
      const ends = ['transactions confirmed 2 1 0', 'transactions confirmed 2 1 0', 'transactions finalized 2 1 0'];
      await expectHeard(all, heard, ['transactions pending 2 1 0', 'transactions pending 2 1 0', ...ends]);
      await expectHeard(sure, heard, ends);
      await expectHeard(final, heard, ends.slice(2));
      await expectHeard(
        single,
        heard,
        [0, 1, 2].map((one) => `transactions finalized ${one}`),
      );
      expect(all.events.at(-1)).toEqual(final.events[0]);
      expect(all.events.every((event) => event.trace_external_hash_norm === traceHash())).toBe(true);
      expect(levelsIn(all.events[1])).toEqual(['pending true', 'pending true', 'confirmed false']);
    });

    it('tells each transaction at its own level where that is asked for', async () => {
      const own = { addresses: everywhere(), finality_scope: 'transaction', min_finality: 'pending' };
      const one = await listen({ types: ['transactions'], ...own });
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await advance(0);
      await say(['finalized', 'pending', 'pending']);
      await say(['finalized', 'confirmed', 'pending']);
      await advance(1);
      await advance(2);
      await say(['finalized', 'finalized', 'finalized']);
      await expectHeard(one, heard, [
        ...[0, 1, 2].map((i) => `transactions pending ${i}`),
        'transactions confirmed 0',
        'transactions finalized 0',
        'transactions confirmed 1',
        'transactions finalized 1',
        'transactions finalized 2',
      ]);
    });

    it('goes never back: what was said before a step that was told is not told', async () => {
      const one = await listen({ types: ['transactions'], addresses: [account(0)], min_finality: 'pending' });
      const before = chain.head.seqno;
      await advance(0);
      await say(['pending', 'pending', 'pending'], before);
      await say(['confirmed', 'pending', 'pending'], before);
      await expectHeard(one, heard, []);
      await say(['finalized', 'pending', 'pending'], before);
      await advance(1);
      await advance(2);
      await say(['confirmed', 'confirmed', 'confirmed'], steps[1]);
      await say('invalidated');
      await expectHeard(one, heard, ['transactions pending 2 0', 'transactions finalized 2 0']);
    });

    it('tells one who has just come what is said by one who has not seen the newest step', async () => {
      const one = await listen({ types: ['transactions'], addresses: everywhere(), min_finality: 'pending' });
      await say(['pending', 'pending', 'pending'], chain.head.seqno - 1);
      await expectHeard(one, heard, ['transactions pending 2 1 0']);
    });

    it('tells one who has just come nothing that was so before a step that nobody was told of', async () => {
      const before = chain.head.seqno;
      await advance(0);
      const one = await listen({ types: ['transactions'], addresses: everywhere(), min_finality: 'pending' });
      await say(['pending', 'pending', 'pending'], before);
      await expectHeard(one, heard, []);
      await say(['finalized', 'pending', 'pending'], steps[0]);
      await expectHeard(one, heard, ['transactions pending 2 1 0']);
    });

    it('tells one who comes while something is looked up for another with the names that he asked for', async () => {
      const own = { types: ['transactions'], addresses: [account(0)], min_finality: 'pending' };
      const { book, transactionsByMessage } = chain.source;
      const asked: string[] = [];
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      chain.source.transactionsByMessage = async (...question) => {
        asked.push('message');
        await released;
        return transactionsByMessage(...question);
      };
      chain.source.book = async (...question) => {
        asked.push('book');
        return book(...question);
      };
      const first = await listen(own);
      const saying = say(['pending', 'pending', 'pending'], chain.head.seqno - 1);
      await expect.poll(() => asked, PATIENT).toEqual(['message']);
      const second = await listen({ ...own, include_address_book: true });
      release();
      await saying;
      for (const one of [first, second]) await expectHeard(one, typesOf, ['transactions']);
      expect(asked).toContain('book');
      expect(second.events[0]).toHaveProperty(['address_book', account(0), 'interfaces']);
    });

    it('takes back what was told of a trace that does not come, once and from those who heard of it', async () => {
      const [first, confirmed, stranger, final] = [
        await listen({ types: ['actions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true }),
        await listen({ types: ['transactions'], addresses: [account(0)], min_finality: 'confirmed' }),
        await listen({ types: ['transactions'], addresses: [`0:${'1'.repeat(64)}`], min_finality: 'pending' }),
        await listen({ types: ['transactions'], addresses: [account(0)] }),
      ];
      await say(['pending', 'pending', 'pending']);
      await say('invalidated');
      await say('invalidated');
      await expectHeard(first, heard, ['actions pending', 'trace_invalidated']);
      expect(Object.keys(first.events[1])).toEqual(['type', 'trace_external_hash_norm', 'event_id', 'cursor']);
      expect(first.events[1].trace_external_hash_norm).toBe(traceHash());
      for (const other of [confirmed, stranger, final]) await expectHeard(other, heard, []);
    });

    it('says to those who waited for a message of which nothing could be told that it does not come', async () => {
      const own = { addresses: [account(0)], min_finality: 'pending' };
      const waiting = [
        await listen({ ...own, types: ['transactions'] }),
        await listen({ ...own, types: ['trace', 'actions'], trace_external_hash_norms: [traceHash()] }),
      ];
      const others = [
        await listen({ ...own, types: ['account_state_change'] }),
        await listen({ ...own, types: ['actions'], addresses: [account(1)] }),
        await listen({ ...own, types: ['transactions'], min_finality: 'confirmed' }),
        await listen({ ...own, types: ['transactions'], min_value: '1' }),
      ];
      await say('never');
      await say('never');
      for (const one of waiting) await expectHeard(one, typesOf, ['trace_invalidated']);
      for (const one of others) await expectHeard(one, typesOf, []);
    });

    it('takes back what was told to one whom the trace did not reach at last', async () => {
      const one = await listen({ types: ['transactions'], addresses: [account(1)], min_finality: 'pending' });
      await say(['pending', 'pending', 'pending']);
      // Of what was emulated only the root came.
      for (const { mcSeqno } of records.splice(1)) chain.transactionsOf(mcSeqno).splice(0);
      await advance(0);
      await say(['finalized']);
      await expectHeard(one, typesOf, ['transactions', 'trace_invalidated']);
    });

    it('tells states that are confirmed, and takes back those of blocks that were replaced', async () => {
      const asked = { addresses: [account(0), account(1)], min_finality: 'pending' };
      const one = await listen({ ...asked, types: ['account_state_change', 'state_invalidated'] });
      const plain = await listen({ ...asked, types: ['account_state_change'] });
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'pending']);
      await say('invalidated');
      const marks = ({ events }: Listener) => events.map(({ type, finality, account: of }) => [type, finality, of]);
      await expectHeard(one, marks, [
        ['account_state_change', 'confirmed', account(0)],
        ['account_state_change', 'confirmed', account(1)],
        ['state_invalidated', 'confirmed', account(0)],
        ['state_invalidated', 'confirmed', account(1)],
      ]);
      await expectHeard(plain, marks, [
        ['account_state_change', 'confirmed', account(0)],
        ['account_state_change', 'confirmed', account(1)],
      ]);
      const { stateBefore } = records[0].transaction;
      expect(one.events[2]).toHaveProperty('state.hash', stateBefore.toString('base64'));
    });

    it('tells jettons that are confirmed to whom they belong, once, and takes them back with the state', async () => {
      const [owner, both] = [
        await listen({
          ...{ types: ['jettons_change', 'state_invalidated'], addresses: [account(0)] },
          min_finality: 'confirmed',
        }),
        await listen({
          ...{ types: ['jettons_change', 'account_state_change', 'state_invalidated'], addresses: [account(1)] },
          ...{ min_finality: 'pending', include_address_book: true },
        }),
      ];
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'pending']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      await say('invalidated');
      await expectHeard(owner, typesOf, ['jettons_change', 'state_invalidated']);
      await expectHeard(both, typesOf, ['account_state_change', 'jettons_change', 'state_invalidated']);
      const jetton = { address: account(1), balance: '7', owner: account(0), jetton: rawAddress(Buffer.alloc(36, 2)) };
      for (const event of [owner.events[0], both.events[1]]) {
        expect(event).toMatchObject({ finality: 'confirmed', jetton });
      }
      expect(both.events[1]).toHaveProperty('address_book');
      expect(owner.events[1]).toMatchObject({ account: account(1), finality: 'confirmed' });
    });

    // A webhook has no cursor to come back with.
    const whoResumes = transport === 'webhook' ? (): void => undefined : it;
    whoResumes('tells who comes back with a cursor how things stand, and what was taken back meanwhile', async () => {
      const types = ['trace', 'actions'];
      const subscription = { types, addresses: [account(0)], trace_external_hash_norms: [traceHash()] };
      const own = { ...subscription, min_finality: 'pending', with_cursor: true };
      const first = await listen(own);
      await say(['pending', 'pending', 'pending']);
      await expectHeard(first, typesOf, ['actions', 'trace']);
      const { cursor: from_cursor } = first.events[1];
      const again = await listen({ ...own, from_cursor });
      await expectHeard(again, typesOf, ['caught_up', 'actions', 'trace']);
      expect(again.events.slice(1)).toEqual(first.events);
      await leave();
      await say('invalidated');
      await expectHeard(await listen({ ...own, from_cursor }), typesOf, ['caught_up', 'trace_invalidated']);
      // Who heard nothing of it before has nothing to take back.
      await expectHeard(await listen(own), typesOf, []);
    });

    whoResumes('tells who asks for what there is how things stand, and what follows', async () => {
      const own = {
        types: ['transactions', 'trace'],
        trace_external_hash_norms: [traceHash()],
        addresses: [account(1)],
      };
      await say(['pending', 'pending', 'pending']);
      const one = await listen({ ...own, min_finality: 'pending', replay_existing: true });
      const final = await listen({ ...own, replay_existing: true });
      await expectHeard(one, typesOf, ['transactions', 'trace']);
      for (const event of one.events) expect(event).not.toHaveProperty('cursor');
      await say('invalidated');
      await expectHeard(one, typesOf, ['transactions', 'trace', 'trace_invalidated']);
      await expectHeard(final, typesOf, []);
    });

    it('tells who narrowed what he hears while he took nothing, or was told how things stand, how they stand', async () => {
      const { feed } = server.streaming;
      const events: Json[] = [];
      let [takes, room] = [false, (): void => undefined];
      const line = feed.open({
        write: (json) => events.push(JSON.parse(json.toString())) > 0 && takes,
        onRoom: (call) => {
          room = call;
        },
        end: () => undefined,
      });
      const own = { types: ['transactions'], addresses: [account(0), account(1)], min_finality: 'pending' };
      const { subscription } = readBody(JSON.stringify({ ...own, finality_scope: 'transaction' }));
      await feed.subscribe(line, subscription, AbortSignal.timeout(PATIENT.timeout));
      await say(['pending', 'pending', 'pending']);
      await expect.poll(() => line.state, PATIENT).toBe('behind');
      await say(['confirmed', 'pending', 'pending']);
      const told = events.length;
      feed.narrow(line, { ...subscription, addresses: subscription.addresses.slice(0, 1) });
      takes = true;
      room();
      await expectHeard({ events, close: () => feed.close(line) }, (one) => heard(one).slice(told), [
        'transactions confirmed 0',
      ]);
      feed.close(line);

      // The same of one who is just being told.
      const { book } = chain.source;
      const held: (() => void)[] = [];
      chain.source.book = async (...question) => {
        await new Promise<void>((resolve) => held.push(resolve));
        return book(...question);
      };
      const later: Json[] = [];
      const sink = { onRoom: () => undefined, end: () => undefined };
      const other = feed.open({ ...sink, write: (json) => later.push(JSON.parse(json.toString())) > 0 });
      const asked = readBody(JSON.stringify({ ...own, include_address_book: true, replay_existing: true }));
      await feed.subscribe(other, asked.subscription, AbortSignal.timeout(PATIENT.timeout));
      await expect.poll(() => held.length, PATIENT).toBe(1);
      chain.source.book = book;
      feed.narrow(other, { ...asked.subscription, addresses: subscription.addresses.slice(0, 1) });
      held[0]();
      const listener = { events: later, close: () => feed.close(other) };
      await expectHeard(listener, heard, ['transactions pending 2 0']);
      listener.close();
    });

    whoResumes('tells who comes back to actions how they stand, with no transaction of his in the trace', async () => {
      const own = { types: ['actions'], addresses: [FOR_WHOM], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      const back = await listen({ ...own, from_cursor });
      await expectHeard(back, typesOf, ['caught_up', 'actions']);
      await say('invalidated');
      await expectHeard(back, typesOf, ['caught_up', 'actions', 'trace_invalidated']);
    });

    whoResumes('tells the whole of what changes while one who comes back is told how things stand', async () => {
      const types = ['transactions', 'actions'];
      const own = { types, addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      await say(['confirmed', 'pending', 'pending']);
      const { book } = chain.source;
      let [asked, release] = [0, (): void => undefined];
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      chain.source.book = async (...question) => {
        if (asked++ === 0) await released;
        return book(...question);
      };
      const back = await listen({ ...own, include_address_book: true, from_cursor });
      await expect.poll(() => asked, PATIENT).toBeGreaterThan(0);
      await say(['confirmed', 'confirmed', 'pending']);
      await expectHeard(back, typesOf, ['caught_up', 'transactions', 'actions']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      release();
      await expectHeard(back, typesOf, ['caught_up', 'transactions', 'actions', 'transactions', 'actions']);
    });

    whoResumes('takes back what is invalidated while one who comes back is told how things stand', async () => {
      const own = { types: ['actions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      const { book } = chain.source;
      let [asked, release] = [0, (): void => undefined];
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      chain.source.book = async (...question) => {
        asked++;
        await released;
        return book(...question);
      };
      const back = await listen({ ...own, include_address_book: true, from_cursor });
      await expect.poll(() => asked, PATIENT).toBeGreaterThan(0);
      await say('invalidated');
      release();
      await expectHeard(back, typesOf, ['caught_up', 'trace_invalidated']);
    });

    whoResumes('tells who comes back how things stand, and what was taken back, once it can be known', async () => {
      const own = { types: ['actions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      const { book, transactionsByMessage } = chain.source;
      let failures = 0;
      const failing = async (): Promise<never> => {
        failures++;
        throw new Error('the tables do not answer');
      };
      chain.source.book = failing;
      const back = await listen({ ...own, include_address_book: true, from_cursor });
      await expect.poll(() => failures, PATIENT).toBeGreaterThan(0);
      chain.source.book = book;
      await expectHeard(back, typesOf, ['caught_up', 'actions']);
      await leave();
      await say('invalidated');
      [failures, chain.source.transactionsByMessage] = [0, failing];
      const again = await listen({ ...own, from_cursor });
      await expect.poll(() => failures, PATIENT).toBeGreaterThan(0);
      chain.source.transactionsByMessage = transactionsByMessage;
      await expectHeard(again, typesOf, ['caught_up', 'trace_invalidated']);
      for (const error of server.failures.splice(0)) expect(String(error)).toContain('the tables do not answer');
    });

    whoResumes('takes nothing back that was told as final before anything was said of it', async () => {
      const { feed } = server.streaming;
      const from_cursor = await feed.cursorAt(null, AbortSignal.timeout(PATIENT.timeout));
      const before = chain.head.seqno;
      const behind = chain.steps[chain.steps.indexOf(steps[2]) + 1];
      let release = (): void => undefined;
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const { steps: whole, transactions } = chain.source;
      // One at a time, so that none waits for the one that is held.
      chain.source.steps = (range, context) => whole({ ...range, last: range.first }, context);
      chain.source.transactions = async (filter, context) => {
        if (filter.mcSeqno === behind) await released;
        return transactions(filter, context);
      };
      chain.advance(behind);
      const own = { types: ['transactions'], addresses: [account(1)], min_finality: 'pending' };
      const one = await listen({ ...own, from_cursor });
      const ofTrace = ({ events }: Listener) =>
        events.filter((event) => event.trace_external_hash_norm === traceHash()).map(({ type }) => type);
      await expectHeard(one, ofTrace, ['transactions']);
      // It is still on its way to where the others are when it is said what was so before.
      await say(['pending', 'pending', 'pending'], before);
      release();
      await expect.poll(() => one.events.at(-1)?.type, PATIENT).toBe('caught_up');
      await say(['finalized', 'finalized', 'finalized']);
      await expectHeard(one, ofTrace, ['transactions']);
    });

    whoResumes('takes nothing back that was told as final before one came back, once it has ended', async () => {
      const own = { addresses: [account(0)], min_finality: 'pending', from_cursor: cursorOf(endOf(steps[2])) };
      comesWithActions();
      // So that steps are told.
      await listen({ types: ['block'] });
      await say(['pending', 'pending', 'pending']);
      for (const at of [0, 1, 2]) await advance(at);
      const backs = [
        await listen({ ...own, types: ['transactions'] }),
        await listen({ ...own, types: ['actions'], addresses: [FOR_WHOM] }),
        await listen({ ...own, types: ['trace'], trace_external_hash_norms: [traceHash()] }),
      ];
      for (const back of backs) await expectHeard(back, typesOf, ['caught_up']);
      chain.advance(chain.steps[chain.steps.indexOf(steps[2]) + 1]);
      const { transactionsByMessage } = chain.source;
      let asked = 0;
      chain.source.transactionsByMessage = async (...question) => {
        asked++;
        return transactionsByMessage(...question);
      };
      await say('ended');
      await expect.poll(() => asked, PATIENT).toBeGreaterThan(0);
      for (const back of backs) await expectHeard(back, typesOf, ['caught_up']);
    });

    whoResumes('takes nothing back of a trace that was told as final in part before one came back', async () => {
      const own = { types: ['transactions'], addresses: everywhere(), min_finality: 'pending', with_cursor: true };
      const first = await listen({ ...own, finality_scope: 'transaction' });
      await say(['pending', 'pending', 'pending']);
      await advance(0);
      await say(['finalized', 'pending', 'pending']);
      await expectHeard(first, heard, [
        ...[0, 1, 2].map((i) => `transactions pending ${i}`),
        'transactions finalized 0',
      ]);
      const { cursor: from_cursor } = first.events[3];
      await leave();
      const again = await listen({ ...own, finality_scope: 'transaction', from_cursor });
      const stranger = await listen({ ...own, finality_scope: 'transaction', addresses: [account(1)], from_cursor });
      await expectHeard(again, heard, ['caught_up', 'transactions pending 1', 'transactions pending 2']);
      await expectHeard(stranger, heard, ['caught_up', 'transactions pending 1']);
      // Of the rest nothing comes.
      for (const { mcSeqno } of records.splice(1)) chain.transactionsOf(mcSeqno).splice(0);
      await say(['finalized']);
      await expectHeard(stranger, typesOf, ['caught_up', 'transactions', 'trace_invalidated']);
      await expectHeard(again, typesOf, ['caught_up', 'transactions', 'transactions']);
    });

    whoResumes('takes nothing back that came after all', async () => {
      const types = ['transactions'];
      const own = { types, addresses: [account(0)], min_finality: 'pending', finality_scope: 'transaction' };
      const first = await listen({ ...own, with_cursor: true });
      await say(['pending', 'pending', 'pending']);
      await expectHeard(first, heard, ['transactions pending 0', 'transactions pending 2']);
      await leave();
      await say('invalidated');
      // Its message was in a block when its time was over; nobody listens.
      chain.source.transactionsByMessage = async () => [records[0]];
      for (const step of steps) chain.advance(step);
      const from_cursor = await server.streaming.feed.cursorAt(null, AbortSignal.timeout(PATIENT.timeout));
      for (const cursor of [String(first.events[1].cursor), from_cursor]) {
        const back = await listen({ ...own, from_cursor: cursor });
        const last = cursor === from_cursor ? [] : ['transactions finalized 0', 'transactions finalized 2'];
        await expectHeard(back, heard, [...last, 'caught_up']);
      }
    });

    whoResumes('takes back at another host what was told before it had seen the steps since', async () => {
      const own = { types: ['transactions'], addresses: [account(0)], min_finality: 'pending', with_cursor: true };
      const from_cursor = await heardAndGone(listen, own);
      // Nobody listens: the steps until then are not looked at.
      for (const step of chain.steps.slice(chain.steps.indexOf(steps[2]) + 1).slice(0, 3)) chain.advance(step);
      const back = await listen({ ...own, from_cursor, types: ['actions'] });
      await expectHeard(back, typesOf, ['caught_up']);
      await say('invalidated');
      await expectHeard(back, typesOf, ['caught_up', 'trace_invalidated']);
    });
  });

  describe(`levels over ${name}, to one who subscribes to something else`, () => {
    beforeEach(() => begin(open()));
    afterEach(end);

    const stranger = `0:${'1'.repeat(64)}`;

    async function heardPending(own: Json) {
      const socket = await openSocket(server.port);
      listeners.push(socket);
      const change = async (message: Json): Promise<void> => {
        const { length } = socket.answers;
        socket.send(message);
        await expect.poll(() => socket.answers.length, PATIENT).toBe(length + 1);
      };
      await change({ operation: 'subscribe', min_finality: 'pending', ...own });
      await say(['pending', 'pending', 'pending']);
      await expectHeard(socket, heard, [expect.stringMatching(/ pending/)]);
      socket.events = [];
      return { socket, change };
    }

    async function comeTrue(): Promise<void> {
      for (const at of [0, 1, 2]) await advance(at);
      await say(['finalized', 'finalized', 'finalized']);
    }

    it('takes nothing back that came when he did not ask for it', async () => {
      const own = { types: ['transactions'], addresses: [...everywhere(), stranger] };
      const { socket, change } = await heardPending(own);
      await change({ operation: 'unsubscribe', addresses: everywhere() });
      await comeTrue();
      await expectHeard(socket, heard, []);
    });

    it('takes nothing back that came before he asked for it again', async () => {
      const own = { operation: 'subscribe', types: ['actions'], addresses: [account(0)] };
      const { socket, change } = await heardPending(own);
      await change({ ...own, addresses: [stranger] });
      for (const at of [0, 1, 2]) await advance(at);
      await change(own);
      await say(['finalized', 'finalized', 'finalized']);
      await expectHeard(socket, heard, []);
    });

    it('takes nothing back that came while he asked for something else of it', async () => {
      const own = { operation: 'subscribe', types: ['transactions'], finality_scope: 'transaction' };
      const { socket, change } = await heardPending({ ...own, addresses: [account(1)] });
      await change({ ...own, types: ['actions'], addresses: [FOR_WHOM] });
      for (const at of [0, 1]) await advance(at);
      await change({ ...own, addresses: [account(1)] });
      await advance(2);
      await say(['finalized', 'finalized', 'finalized']);
      await expectHeard(socket, heard, []);
    });

    it('takes nothing back that is told as final alone', async () => {
      const own = { operation: 'subscribe', types: ['actions'], addresses: [account(0)] };
      const { socket, change } = await heardPending(own);
      await change({ ...own, min_finality: 'finalized' });
      await comeTrue();
      await expectHeard(socket, heard, []);
    });

    it('takes back what does not come', async () => {
      const own = { operation: 'subscribe', types: ['transactions'], addresses: [account(1)] };
      const { socket, change } = await heardPending(own);
      await change({ ...own, addresses: [stranger] });
      await say('invalidated');
      await expectHeard(socket, typesOf, ['trace_invalidated']);
    });

    it('takes back what came otherwise to one who asks for it still', async () => {
      const own = { operation: 'subscribe', types: ['transactions'], addresses: [account(1)] };
      const { socket, change } = await heardPending(own);
      await change({ ...own, addresses: [account(1), stranger] });
      for (const { mcSeqno } of records.splice(1)) chain.transactionsOf(mcSeqno).splice(0);
      await advance(0);
      await say(['finalized']);
      await expectHeard(socket, typesOf, ['trace_invalidated']);
    });
  });

  describe(`levels over ${name}, in the words of v1`, () => {
    beforeEach(() => begin(open()));
    afterEach(end);

    async function openV1(subscriptions: Record<string, string[]>): Promise<Listener> {
      const socket = await openSocket(server.port, {}, 'v1');
      socket.send({ operation: 'set_subscription', subscriptions });
      await expect.poll(() => socket.answers, PATIENT).toEqual([{ status: 'subscription_set' }]);
      listeners.push(socket);
      return socket;
    }

    it('tells what is pending by types of its own, what is final by the others, and no level', async () => {
      const all = await openV1({
        [account(0)]: ['pending_transactions', 'transactions'],
        [account(1)]: ['pending_transactions'],
      });
      const pending = await openV1({ [account(0)]: ['pending_transactions', 'pending_actions'] });
      const final = await openV1({ [account(0)]: ['transactions', 'account_state_change'] });
      await say(['pending', 'pending', 'pending']);
      await say(['confirmed', 'pending', 'pending']);
      await say(['confirmed', 'confirmed', 'confirmed']);
      for (const at of [0, 1, 2]) await advance(at);
      await say(['finalized', 'finalized', 'finalized']);
      // The first account sends to the second, which answers.
      expect(account(2)).toBe(account(0));
      const own = ['transactions 0', 'transactions 2'];
      await expectHeard(all, briefly, ['pending_transactions 2 1 0', 'pending_transactions 2 1', ...own]);
      await expectHeard(pending, briefly, [
        ...['pending_transactions 2 0', 'pending_actions'],
        ...['pending_transactions 2', 'pending_actions'],
      ]);
      await expectHeard(
        final,
        briefly,
        own.flatMap((text) => [text, 'account_state_change']),
      );
      for (const { finality } of [...all.events, ...pending.events]) expect(finality).toBeUndefined();
    });

    it('takes back what was told and does not come', async () => {
      const one = await openV1({ [account(0)]: ['pending_actions'] });
      await say(['pending', 'pending', 'pending']);
      await say('invalidated');
      await expectHeard(one, typesOf, ['pending_actions', 'trace_invalidated']);
    });
  });
}

/** Without levels, where none are told. */
const briefly = (listener: Listener): string[] => heard(listener).map((text) => text.replace(/ +/g, ' '));

function levelsIn({ transactions }: Json): string[] {
  if (!Array.isArray(transactions)) throw new Error('an event without transactions');
  return transactions.map(({ finality, emulated }) => `${finality} ${emulated}`);
}
