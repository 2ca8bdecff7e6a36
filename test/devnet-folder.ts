/** The folder of a stopped devnet, read back block by block. */
import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { decodeBlock } from '../src/chain/block.ts';
import { openBoc } from '../src/chain/boc.ts';
import type { BlockId } from '../src/chain/model.ts';
import { createCast } from '../src/devnet/actors/cast.ts';
import { initialAccounts } from '../src/devnet/actors/initial-accounts.ts';
import { createChain } from '../src/devnet/chain.ts';
import { genesisOf } from '../src/devnet/chain-ledger.ts';
import { claimIdentity, type Identity } from '../src/devnet/identity.ts';
import type { BlockPlace, Chain } from '../src/devnet/model.ts';

export interface DevnetFolderOptions {
  seed: string;
  blockTimeMs: number;
  splitAt: number;
  mergeAt: number;
}

/** A block as the folder has it: `text` tells its step, its id and the SHA-256 of its bytes. */
export interface WalkedBlock {
  mcSeqno: number;
  text: string;
  transactions: number;
}

/** Opens the chain of a folder as the devnet would do. The folder must hold one. */
export async function openDevnetFolder(folder: string, options: DevnetFolderOptions): Promise<Chain> {
  const unlike: Identity = { seed: options.seed, startUtime: 1, traders: 2 };
  const identity = claimIdentity(folder, unlike);
  expect(identity).not.toEqual(unlike);
  const genesis = genesisOf(initialAccounts(createCast(identity)));
  return createChain({ ...options, folder, genesis, startUtime: identity.startUtime });
}

/** What `WalkedBlock.text` holds. */
export function blockText(mcSeqno: number, { workchain, shard, seqno }: BlockId, bytes: Buffer): string {
  return `step ${mcSeqno}: ${workchain}:${shard}:${seqno} ${hash('sha256', bytes)}`;
}

/**
 * All blocks, step by step, shard blocks before their masterchain block. Fails unless every block is what the chain
 * says it is, its previous blocks are those of the chain, and all but the newest have one that comes after them.
 */
export function walkDevnet(chain: Chain): WalkedBlock[] {
  const { mc: head, shards: tops } = chain.head();
  const { mc: zero, shard: zeroShard } = chain.zeroState;
  const known = new Map([zero, zeroShard].map((id) => [key(id), linkText(id)]));
  const continued = new Set<string>();
  const walked: WalkedBlock[] = [];
  for (let mcSeqno = 1; mcSeqno <= head.seqno; mcSeqno++) {
    const places = [...newShardBlocks(chain, mcSeqno), masterBlock(chain, mcSeqno)];
    for (const place of places) {
      const bytes = chain.block(place);
      if (bytes === null) throw new Error(`the devnet lost block ${key(place)}`);
      const { header } = decodeBlock(openBoc(bytes));
      expect([key(header), header.rootHash, hash('sha256', bytes, 'buffer')]).toEqual([
        key(place),
        place.rootHash,
        place.fileHash,
      ]);
      for (const prev of header.prev) {
        expect(linkText(prev)).toBe(known.get(key(prev)));
        continued.add(key(prev));
      }
      known.set(key(place), linkText(place));
      walked.push({ mcSeqno, text: blockText(mcSeqno, place, bytes), transactions: place.transactions });
    }
  }
  const ends = [...known.keys()].filter((block) => !continued.has(block));
  expect(ends.sort()).toEqual([head, ...tops].map(key).sort());
  return walked;
}

function key({ workchain, shard, seqno }: BlockId): string {
  return `${workchain}:${shard}:${seqno}`;
}

function linkText({ rootHash, fileHash }: Pick<BlockPlace, 'rootHash' | 'fileHash'>): string {
  return `${rootHash.toString('hex')} ${fileHash.toString('hex')}`;
}

function masterBlock(chain: Chain, seqno: number): BlockPlace {
  const place = chain.lookup({ workchain: -1, shard: '8000000000000000', seqno });
  if (place === null) throw new Error(`the devnet lost masterchain block ${seqno}`);
  return place;
}

/** Of the shards that a masterchain block registers, those whose newest block it registers first. */
function newShardBlocks(chain: Chain, mcSeqno: number): BlockPlace[] {
  return (chain.shards(mcSeqno) ?? []).filter((place) => place.seqno > 0 && place.mcSeqno === mcSeqno);
}
