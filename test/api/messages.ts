import { expect, it } from 'vitest';
import { rounds } from '../chance.ts';
import { messageAnswer } from './answers.ts';
import { hashesOf, someRows, someSorts, spread, walk } from './client.ts';
import { messagesWanted, type Wanted } from './contract.ts';
import { base64, type KnownMessage } from './network.ts';
import { ADDRESS_FORMS, HASH_FORMS, inBase64 } from './spellings.ts';
import { ofEachKind, type Subject } from './subject.ts';

const hashes = (messages: readonly KnownMessage[]): string[] => messages.map(({ facts }) => base64(facts.hash));

/** Asks and compares with the contract over the facts; how many rows there were. */
async function expectWanted(
  { client, network, opcodes }: Subject,
  wanted: Wanted,
  limit = someRows(),
): Promise<number> {
  let found = 0;
  for (const sort of someSorts()) {
    const both = { ...wanted, sort };
    const { rows } = await client.page('messages', 'messages', { ...inBase64(both), limit });
    const expected = messagesWanted(network, both, opcodes);
    expect(hashesOf(rows), JSON.stringify({ ...both, limit })).toEqual(hashes(expected).slice(0, limit));
    found = rows.length;
  }
  return found;
}

export function describeMessages(subject: () => Subject): void {
  describeRows(subject);
  describeFilters(subject);
  describeWindows(subject);
}

function describeRows(subject: () => Subject): void {
  it('has every message with every field of the facts and the transactions at its ends', async () => {
    const { client, network, opcodes } = subject();
    const expected = messagesWanted(network, { sort: 'asc' }, opcodes);
    const rows = await walk(client, 'messages', 'messages', { sort: 'asc' }, 211, 'offset');
    expect(hashesOf(rows)).toEqual(hashes(expected));
    for (const [index, row] of rows.entries()) {
      const { facts, sender, receiver } = expected[index];
      const version = (sender ?? receiver)?.block.facts.gen_software?.version ?? 0;
      expect(row).toMatchObject(messageAnswer(facts, version));
      expect(row.in_msg_tx_hash).toBe(receiver ? base64(receiver.facts.hash) : undefined);
      expect(row.out_msg_tx_hash).toBe(sender ? base64(sender.facts.hash) : undefined);
      expect(row.opcode).toBe(opcodes.get(facts.body_hash));
      expect(row.init_state === null).toBe(!facts.has_init);
    }
  });

  it('gives the same rows by cursor, both ways, nulls at the right end', async () => {
    const { client, network, opcodes } = subject();
    for (const [sort, limit] of [
      ['asc', 97],
      ['desc', 64],
    ] as const) {
      const rows = await walk(client, 'messages', 'messages', { sort }, limit, 'cursor');
      expect(hashesOf(rows)).toEqual(hashes(messagesWanted(network, { sort }, opcodes)));
    }
    const timed = messagesWanted(network, { start_utime: 0 }, opcodes);
    const { created_at: time } = timed[Math.min(rounds(150, 1_000), Math.floor(timed.length / 2))].facts;
    const wanted = { start_utime: time ?? 0 };
    const rows = await walk(client, 'messages', 'messages', wanted, rounds(11, 5), 'cursor');
    expect(hashesOf(rows)).toEqual(hashes(messagesWanted(network, wanted, opcodes)));
  });
}

const isTimed = ({ facts }: KnownMessage): boolean => facts.created_at !== undefined;

function describeFilters(subject: () => Subject): void {
  it('finds every message by its hash, and in any spelling of it', async () => {
    const { client, network } = subject();
    const all = [...network.messages.keys()];
    for (let from = 0; from < all.length; from += 100) {
      expect(await expectWanted(subject(), { msg_hash: all.slice(from, from + 100) }, 100)).toBe(
        Math.min(100, all.length - from),
      );
    }
    for (const { facts } of spread([...network.messages.values()], rounds(2, 5))) {
      for (const spell of HASH_FORMS) {
        for (const name of ['msg_hash', 'hash']) {
          const { rows } = await client.page('messages', 'messages', { [name]: spell(facts.hash) });
          expect(hashesOf(rows)).toEqual([base64(facts.hash)]);
        }
      }
    }
  });

  it('finds external messages by the normalized hash', async () => {
    const { network } = subject();
    for (const { facts } of spread(
      [...network.messages.values()].filter((m) => m.facts.hash_norm),
      rounds(6, 20),
    )) {
      expect(await expectWanted(subject(), { msg_hash: [facts.hash_norm ?? ''] })).toBeGreaterThan(0);
    }
  });

  it('filters by body, opcode, either address and direction, alone and together', async () => {
    const { opcodes } = subject();
    for (const { facts, source, destination } of ofEachKind(subject(), rounds(1, 3))) {
      const sides = { source: source ?? 'null', destination: destination ?? 'null' };
      const opcode = opcodes.get(facts.body_hash);
      await expectWanted(subject(), { body_hash: facts.body_hash });
      await expectWanted(subject(), { source: sides.source });
      await expectWanted(subject(), { destination: sides.destination });
      expect(await expectWanted(subject(), { ...sides, body_hash: facts.body_hash })).toBeGreaterThan(0);
      if (opcode) expect(await expectWanted(subject(), { opcode, destination: sides.destination })).toBeGreaterThan(0);
      for (const direction of ['in', 'out'] as const) {
        await expectWanted(subject(), { ...sides, direction });
        if (opcode) await expectWanted(subject(), { opcode, direction });
      }
    }
  });

  it('filters external messages', async () => {
    for (const wanted of [
      { source: 'null' },
      { destination: 'null' },
      { exclude_externals: true },
      { only_externals: true },
      { only_externals: true, start_lt: '0' },
      { only_externals: true, exclude_externals: true },
      { source: 'null', direction: 'out' },
      { destination: 'null', exclude_externals: true },
    ] satisfies Wanted[]) {
      await expectWanted(subject(), wanted);
    }
  });

  it('leaves the hash of the other transaction out when a direction is asked for', async () => {
    const { client, network } = subject();
    const whole = [...network.messages.values()].filter(({ sender, receiver }) => sender && receiver);
    for (const { facts } of spread(whole, 3)) {
      const msg_hash = base64(facts.hash);
      const [received] = (await client.page('messages', 'messages', { msg_hash, direction: 'in' })).rows;
      const [sent] = (await client.page('messages', 'messages', { msg_hash, direction: 'out' })).rows;
      expect([Object.hasOwn(received, 'in_msg_tx_hash'), Object.hasOwn(received, 'out_msg_tx_hash')]).toEqual([
        true,
        false,
      ]);
      expect([Object.hasOwn(sent, 'in_msg_tx_hash'), Object.hasOwn(sent, 'out_msg_tx_hash')]).toEqual([false, true]);
    }
  });

  it('reads addresses in every spelling', async () => {
    const { client, network, opcodes } = subject();
    const message = [...network.messages.values()].find(({ source, destination }) => source && destination);
    const { source, destination } = message ?? { source: null, destination: null };
    if (source === null || destination === null) throw new Error('no internal message');
    const expected = hashes(messagesWanted(network, { source, destination }, opcodes)).slice(0, 1000);
    for (const spell of ADDRESS_FORMS) {
      const query = { source: spell(source), destination: spell(destination), limit: 1000 };
      const { rows, addressBook } = await client.page('messages', 'messages', query);
      expect(hashesOf(rows)).toEqual(expected);
      expect(Object.keys(addressBook).sort()).toEqual([...new Set([source, destination])].sort());
    }
  });
}

function describeWindows(subject: () => Subject): void {
  it('takes both ends of lt and time windows in', async () => {
    const { network } = subject();
    for (const { facts, destination } of spread([...network.messages.values()].filter(isTimed), rounds(2, 3))) {
      const lt = facts.created_lt ?? '';
      const time = facts.created_at ?? 0;
      expect(await expectWanted(subject(), { start_lt: lt, end_lt: lt })).toBeGreaterThan(0);
      await expectWanted(subject(), { start_lt: (BigInt(lt) + 1n).toString() });
      await expectWanted(subject(), { end_lt: lt });
      expect(await expectWanted(subject(), { start_utime: time, end_utime: time })).toBeGreaterThan(0);
      await expectWanted(subject(), { start_utime: time + 1 });
      await expectWanted(subject(), { end_utime: time, start_lt: lt });
      await expectWanted(subject(), { start_utime: time, destination: destination ?? 'null' });
      await expectWanted(subject(), { start_utime: time, exclude_externals: true, direction: 'in' });
    }
  });
}
