/** Links of mainnet as liteservers gave them, and what a liar would make of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { requireShelf, shelf } from '../../test/shelf.ts';
import { type BlockLink, checkLink, createSignerCache, type ForwardLink } from '../chain/block-proof.ts';
import { DecodeError, ProofError } from '../chain/errors.ts';
import type { BlockIdExt } from '../chain/model.ts';
import { FULL_SHARD } from '../chain/shard-ident.ts';
import { decodeAnswer } from './lite-api.ts';
import { linkFromTl } from './lite-links.ts';

const read = (folder: string, name: string): Buffer => readFileSync(join(requireShelf(), 'data', folder, name));

function recordedLinks(name: string): BlockLink[] {
  const bytes = Buffer.from(read('proofs', name).toString().replace(/\s/g, ''), 'hex');
  return decodeAnswer('getBlockProof', bytes).steps.map(linkFromTl);
}

const base64 = z.base64().transform((text) => Buffer.from(text, 'base64'));
const id = z
  .object({ seqno: z.int(), rootHash: base64, fileHash: base64 })
  .transform((fields): BlockIdExt => ({ workchain: -1, shard: FULL_SHARD, ...fields }));
const tactProof = z.object({
  from: id,
  to: id,
  destProof: base64,
  configProof: base64,
  signatures: z.object({
    validatorSetHash: z.int(),
    catchainSeqno: z.int(),
    signatures: z.array(z.object({ nodeIdShort: base64, signature: base64 })),
  }),
});

/** One that leads to a plain block is told apart by trying. */
function tactLink(name: string): ForwardLink {
  const { signatures, ...ends } = tactProof.parse(JSON.parse(read('proofs', name).toString()));
  const link = { kind: 'forward', ...ends, signatures: { kind: 'ordinary', ...signatures } } as const;
  try {
    checkLink({ ...link, toKeyBlock: false }, createSignerCache());
    return { ...link, toKeyBlock: false };
  } catch {
    return { ...link, toKeyBlock: true };
  }
}

function forward(name: string): ForwardLink {
  const [link] = recordedLinks(name);
  if (link?.kind !== 'forward') throw new Error('not a forward link');
  return link;
}

describe.skipIf(shelf === null)('recorded links of mainnet', () => {
  test('three links from an init block, over a change of the validators', () => {
    const signers = createSignerCache();
    const links = recordedLinks('chain.hex');
    expect(links[0].from.seqno).toBe(46_894_135);
    const led = links.map((link) => checkLink(link, signers));
    expect(led.map(({ id }) => id.seqno).slice(-1)).toEqual([46_920_655]);
    expect(led.slice(0, -1).every(({ keyBlock }) => keyBlock)).toBe(true);
    for (const [at, link] of links.slice(1).entries()) expect(link.from).toEqual(led[at].id);
  });

  test.each(['one-link-ordinary.hex', 'one-link-simplex.hex'])('%s', (name) => {
    const link = forward(name);
    expect(checkLink(link, createSignerCache())).toMatchObject({ id: link.to, keyBlock: link.toKeyBlock });
    expect(link.signatures.kind).toBe(name.includes('simplex') ? 'simplex' : 'ordinary');
  });

  test.each(['tact-proof.json', 'tact-proof2.json'])('%s', (name) => {
    const link = tactLink(name);
    expect(checkLink(link, createSignerCache()).id).toEqual(link.to);
  });

  const one = shelf === null ? null : forward('one-link-ordinary.hex');
  const simplex = shelf === null ? null : forward('one-link-simplex.hex');
  const later = shelf === null ? null : recordedLinks('chain.hex')[1];

  function given<T>(value: T | null): T {
    if (value === null) throw new Error('nothing recorded');
    return value;
  }

  const flip = (bytes: Buffer, at = bytes.length >> 1): Buffer => {
    const copy = Buffer.from(bytes);
    copy[at] ^= 1;
    return copy;
  };
  const changed = (link: ForwardLink, signatures: Partial<ForwardLink['signatures']>): ForwardLink => ({
    ...link,
    signatures: { ...link.signatures, ...signatures } as ForwardLink['signatures'],
  });
  const others: [string, RegExp, () => BlockLink][] = [
    [
      'a flipped bit in a signature',
      /bad signature/,
      () => {
        const [first, ...rest] = given(one).signatures.signatures;
        return changed(given(one), { signatures: [{ ...first, signature: flip(first.signature) }, ...rest] });
      },
    ],
    [
      'another file hash',
      /bad signature/,
      () => ({ ...given(one), to: { ...given(one).to, fileHash: flip(given(one).to.fileHash) } }),
    ],
    [
      'another root hash',
      /header of the target is of something else/,
      () => ({ ...given(one), to: { ...given(one).to, rootHash: flip(given(one).to.rootHash) } }),
    ],
    [
      'a signer twice',
      /signs twice/,
      () => {
        const { signatures } = given(one).signatures;
        return changed(given(one), { signatures: [...signatures.slice(1), signatures[1]] });
      },
    ],
    [
      'a signer who is none',
      /no validator of the group/,
      () => {
        const [first, ...rest] = given(one).signatures.signatures;
        return changed(given(one), { signatures: [{ ...first, nodeIdShort: flip(first.nodeIdShort) }, ...rest] });
      },
    ],
    [
      'two thirds and no more',
      /of \d+ weight/,
      () => changed(given(one), { signatures: given(one).signatures.signatures.slice(20) }),
    ],
    ['no signatures', /signatures of 0 of/, () => changed(given(one), { signatures: [] })],
    [
      'more signatures than validators',
      /more signatures/,
      () => {
        const { signatures } = given(one).signatures;
        return changed(given(one), { signatures: Array.from({ length: 101 }, () => signatures[0]) });
      },
    ],
    ['another session', /another session/, () => changed(given(one), { catchainSeqno: 1 })],
    ['another set', /other validators/, () => changed(given(one), { validatorSetHash: 1 })],
    [
      'the configuration of another block',
      /configuration proof is of something else/,
      () => ({ ...given(one), configProof: (given(later) as ForwardLink).configProof }),
    ],
    [
      'from another key block',
      /is the key block before/,
      () => ({ ...given(one), from: { ...given(one).from, seqno: 5 } }),
    ],
    ['a header of another block', /header of the target/, () => ({ ...given(one), destProof: given(later).destProof })],
    [
      'the wrong word on a key block',
      /whether its target is a key block/,
      () => ({ ...given(one), toKeyBlock: !given(one).toKeyBlock }),
    ],
    ['a link to itself', /leads back/, () => ({ ...given(one), to: given(one).from })],
    [
      'outside the masterchain',
      /outside the masterchain/,
      () => ({ ...given(one), to: { ...given(one).to, workchain: 0 } }),
    ],
    [
      'a candidate of another block',
      /signatures of another block/,
      () =>
        changed(given(simplex), {
          candidate: flip((given(simplex).signatures as { candidate: Buffer }).candidate, 50),
        } as never),
    ],
    [
      'another collated file',
      /bad signature/,
      () =>
        changed(given(simplex), {
          candidate: flip((given(simplex).signatures as { candidate: Buffer }).candidate, 90),
        } as never),
    ],
    ['another slot', /bad signature/, () => changed(given(simplex), { slot: 1 } as never)],
    [
      'another Simplex session',
      /bad signature/,
      () => changed(given(simplex), { sessionId: Buffer.alloc(32) } as never),
    ],
    ['no candidate', /no candidate/, () => changed(given(simplex), { candidate: Buffer.alloc(0) } as never)],
  ];

  test.each(others)('refused: %s', (_, reason, link) => {
    expect(() => checkLink(link(), createSignerCache())).toThrow(ProofError);
    expect(() => checkLink(link(), createSignerCache())).toThrow(reason);
  });

  test('proofs that are changed anywhere are refused, and never crash', () => {
    const link = given(one);
    for (const part of ['destProof', 'configProof'] as const) {
      const bytes = link[part];
      for (let at = 0; at < bytes.length; at += part === 'destProof' ? 7 : 1009) {
        const attempt = (): unknown => checkLink({ ...link, [part]: flip(bytes, at) }, createSignerCache());
        expect(attempt).toThrow();
        try {
          attempt();
        } catch (error) {
          expect(error instanceof DecodeError || error instanceof ProofError).toBe(true);
        }
      }
    }
  });

  test('a group is known by the bytes that were checked, never by the word of the next answer', () => {
    const signers = createSignerCache();
    const link = given(one);
    checkLink(link, signers);
    checkLink(link, signers);
    expect(() => checkLink({ ...link, configProof: (given(later) as ForwardLink).configProof }, signers)).toThrow(
      ProofError,
    );
    checkLink(link, signers);
  });
});
