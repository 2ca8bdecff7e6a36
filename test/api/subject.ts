import { Cell } from '@ton/core';
import { expect } from 'vitest';
import { z } from 'zod';
import { type ApiClient, spread, walk } from './client.ts';
import type { Opcodes } from './contract.ts';
import { groupBy, type KnownMessage, type Network } from './network.ts';

/** A running API, and what its blocks hold by the facts. */
export interface Subject {
  url: string;
  client: ApiClient;
  network: Network;
  opcodes: Opcodes;
}

const content = z.object({ message_content: z.object({ hash: z.string(), body: z.string() }) });

/**
 * Opcodes by body hash, read by @ton/core in the bodies that `/messages` shows. The facts give the hashes of bodies;
 * that each body has the hash it is shown with is checked here, that the hash is the right one in the tests of rows.
 */
export async function readOpcodes(client: ApiClient): Promise<Opcodes> {
  const opcodes = new Map<string, string | null>();
  for (const row of await walk(client, 'messages', 'messages', { sort: 'asc' }, 1000, 'offset')) {
    const { hash, body } = content.parse(row).message_content;
    const hex = Buffer.from(hash, 'base64').toString('hex');
    if (opcodes.has(hex)) continue;
    const cell = Cell.fromBase64(body);
    expect(cell.hash().toString('hex')).toBe(hex);
    opcodes.set(hex, firstWord(cell));
  }
  return opcodes;
}

/** So many messages of each kind that a filter may take in another way, by chance. */
export function ofEachKind({ network, opcodes }: Pick<Subject, 'network' | 'opcodes'>, count: number): KnownMessage[] {
  const kinds = groupBy(
    [...network.messages.values()],
    ({ facts, sender }) => `${facts.type} ${typeof opcodes.get(facts.body_hash)} ${sender === null}`,
  );
  return [...kinds.values()].flatMap((messages) => spread(messages, count));
}

/** As printed; null when the body is shorter than 32 bits. */
function firstWord(cell: Cell): string | null {
  const slice = cell.beginParse(true);
  return slice.remainingBits < 32 ? null : `0x${slice.loadUint(32).toString(16).padStart(8, '0')}`;
}
