import { expect, it } from 'vitest';
import { rounds } from '../chance.ts';
import { blockAnswer } from './answers.ts';
import { type ApiClient, type Query, someSorts, spread, walk } from './client.ts';
import { blocksWanted, type Wanted } from './contract.ts';
import { base64, type KnownBlock } from './network.ts';
import { HASH_FORMS, inBase64 } from './spellings.ts';
import type { Subject } from './subject.ts';

const rootHashes = (blocks: readonly KnownBlock[]): string[] => blocks.map(({ facts }) => base64(facts.root_hash));

async function listed(client: ApiClient, endpoint: string, query: Query): Promise<unknown[]> {
  const { rows } = await client.page(endpoint, 'blocks', { limit: 1000, ...query });
  return rows.map(({ root_hash }) => root_hash);
}

async function expectWanted({ client, network }: Subject, wanted: Wanted): Promise<void> {
  for (const sort of someSorts()) {
    const both = { ...wanted, sort };
    const expected = rootHashes(blocksWanted(network, both));
    expect(await listed(client, 'blocks', inBase64(both)), JSON.stringify(both)).toEqual(expected);
  }
}

const masterchain = ({ network }: Subject): KnownBlock[] =>
  network.blocks.filter(({ facts }) => facts.workchain === -1);

export function describeBlocks(subject: () => Subject): void {
  describeRows(subject);
  describeFilters(subject);
  describeSteps(subject);
}

function describeRows(subject: () => Subject): void {
  it('has every block with every field of the facts', async () => {
    const { client, network } = subject();
    const expected = blocksWanted(network, { sort: 'asc' });
    const rows = await walk(client, 'blocks', 'blocks', { sort: 'asc' }, 83, 'offset');
    expect(rows.length).toBe(network.blocks.length);
    for (const [index, row] of rows.entries()) {
      const { facts } = expected[index];
      expect(row).toMatchObject(blockAnswer(expected[index]));
      expect(row.prev_blocks).toMatchObject(facts.prev.map(({ seqno }) => ({ workchain: facts.workchain, seqno })));
    }
  });

  it('gives the same rows by cursor, both ways', async () => {
    const { client, network } = subject();
    for (const [sort, limit] of [
      ['asc', 13],
      ['desc', 50],
    ] as const) {
      const rows = await walk(client, 'blocks', 'blocks', { sort }, limit, 'cursor');
      expect(rows.map(({ root_hash }) => root_hash)).toEqual(rootHashes(blocksWanted(network, { sort })));
    }
  });

  it('knows the first and the last masterchain block', async () => {
    const seqnos = masterchain(subject()).sort((a, b) => a.facts.seqno - b.facts.seqno);
    const [first, last] = [seqnos[0], seqnos[seqnos.length - 1]];
    const info = await subject().client.get('masterchainInfo');
    expect(info).toMatchObject({ first: blockAnswer(first), last: blockAnswer(last) });
  });
}

function describeFilters(subject: () => Subject): void {
  it('finds blocks by place and by either hash in any spelling', async () => {
    const { client, network } = subject();
    for (const { facts } of spread(network.blocks, rounds(6, 12))) {
      const { workchain, shard, seqno } = facts;
      await expectWanted(subject(), { workchain, shard, seqno });
      await expectWanted(subject(), { root_hash: facts.root_hash });
      await expectWanted(subject(), { file_hash: facts.file_hash });
      await expectWanted(subject(), { root_hash: facts.root_hash, file_hash: network.blocks[0].facts.file_hash });
    }
    for (const { facts } of spread(network.blocks, rounds(1, 3))) {
      for (const spell of HASH_FORMS) {
        const expected = [base64(facts.root_hash)];
        expect(await listed(client, 'blocks', { root_hash: spell(facts.root_hash) })).toEqual(expected);
        expect(await listed(client, 'blocks', { file_hash: spell(facts.file_hash) })).toEqual(expected);
      }
      // The forms of a shard: hex with and without prefix, and the signed decimal.
      const { workchain, shard, seqno } = facts;
      const signed = BigInt.asIntN(64, BigInt(`0x${shard}`)).toString();
      for (const form of [shard.toUpperCase(), `0x${shard}`, ...(signed.startsWith('-') ? [signed] : [])]) {
        expect(await listed(client, 'blocks', { workchain, shard: form, seqno })).toEqual([base64(facts.root_hash)]);
      }
    }
  });

  it('lists workchains and shards', async () => {
    const shards = new Set(subject().network.blocks.map(({ facts }) => `${facts.workchain} ${facts.shard}`));
    for (const text of shards) {
      const [workchain, shard] = text.split(' ');
      await expectWanted(subject(), { workchain: Number(workchain), shard });
    }
    await expectWanted(subject(), { workchain: 0 });
    await expectWanted(subject(), { workchain: -1 });
  });

  it('takes both ends of windows in, both bounds of lt on start_lt', async () => {
    for (const { facts } of spread(subject().network.blocks, rounds(2, 3))) {
      const { gen_utime: time, start_lt: lt } = facts;
      await expectWanted(subject(), { start_utime: time });
      await expectWanted(subject(), { end_utime: time });
      await expectWanted(subject(), { start_utime: time, end_utime: time });
      await expectWanted(subject(), { start_lt: lt });
      await expectWanted(subject(), { end_lt: lt, workchain: 0 });
      await expectWanted(subject(), { start_lt: (BigInt(lt) + 1n).toString(), end_utime: time });
    }
  });
}

function describeSteps(subject: () => Subject): void {
  it('lists the blocks of masterchain steps', async () => {
    const { client, network } = subject();
    for (const { facts } of spread(masterchain(subject()), rounds(12, 40))) {
      const expected = rootHashes(blocksWanted(network, { mc_seqno: facts.seqno }));
      expect(await listed(client, 'blocks', { mc_seqno: facts.seqno })).toEqual(expected);
      expect(await listed(client, 'masterchainBlockShards', { seqno: facts.seqno })).toEqual(expected);
    }
  });

  it('shows the shard tips that a masterchain block names, and itself first', async () => {
    const { client, network } = subject();
    const known = new Map(network.blocks.map((block) => [block.facts.root_hash, block]));
    const blocks = masterchain(subject());
    for (const block of spread(blocks, rounds(40, blocks.length))) {
      const tips = Object.values(block.facts.shard_hashes ?? {}).flat();
      // A shard that has no block yet is named with seqno 0; a tip older than the blocks is not known.
      const found = tips.map(({ root_hash }) => known.get(root_hash)).filter((tip) => tip !== undefined);
      const order = ({ facts }: KnownBlock) => BigInt.asIntN(64, BigInt(`0x${facts.shard}`));
      found.sort((a, b) => a.facts.workchain - b.facts.workchain || (order(a) < order(b) ? -1 : 1));
      const { rows } = await client.page('masterchainBlockShardState', 'blocks', { seqno: block.facts.seqno });
      expect(rows.map(({ root_hash }) => root_hash)).toEqual(rootHashes([block, ...found]));
    }
  });
}
