import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { shelf } from '../test/shelf.ts';
import { decodeDeadLetter, encodeDeadLetter } from './dead-letters.ts';
import { decodeBlockRecord, decodeEnvelope, encodeBlockRecord, type NewBlockRecord } from './envelope.ts';
import { decodeFrame, encodeFrame } from './framing.ts';
import type { LogRecord, StoredRecord } from './log.ts';
import { topicNames, topicRetentionMs } from './topics.ts';

const stored = (record: LogRecord, offset = 7): StoredRecord => ({ ...record, offset, time: 1 });

const LINE = z.object({
  workchain: z.int(),
  shard: z.string(),
  seqno: z.int(),
  root_hash: z.string(),
  file_hash: z.string(),
  mc_seqno: z.int(),
  boc: z.base64(),
});

/** The first recorded mainnet blocks, with the hashes their source gives. */
function recordedBlocks(count: number): NewBlockRecord[] {
  const file = join(shelf ?? '', 'data/blocks/seq_mainnet-genesis_a.ndjson.gz');
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trim().split('\n').slice(0, count);
  return lines.map((line) => {
    const { workchain, shard, seqno, root_hash, file_hash, mc_seqno, boc } = LINE.parse(JSON.parse(line));
    return {
      id: { workchain, shard, seqno, rootHash: Buffer.from(root_hash, 'hex'), fileHash: Buffer.from(file_hash, 'hex') },
      globalId: -239,
      mcSeqno: mc_seqno,
      seal: workchain === -1 ? 1 : null,
      genUtime: 1_573_822_385,
      receivedAtMs: 1_573_822_386_123,
      source: 'file',
      boc: Buffer.from(boc, 'base64'),
    };
  });
}

describe.skipIf(shelf === null)('block records of recorded blocks', () => {
  it('carry id, hashes and bytes unchanged through record and frame', () => {
    for (const block of recordedBlocks(60)) {
      const record = stored(encodeBlockRecord({ ...block, zeroState: block.id.rootHash, globalVersion: 5 }));
      const frame = encodeFrame(record, record.time);
      const back = decodeBlockRecord(decodeFrame(frame, 't', record.offset), 't');
      expect(back).toEqual({ ...block, zeroState: block.id.rootHash, globalVersion: 5, offset: 7 });
    }
  });

  it('have the headers of the format', () => {
    const [block] = recordedBlocks(1);
    const { key, headers } = encodeBlockRecord(block);
    expect(key).toBe('-1:8000000000000000:1');
    expect(headers).toEqual({
      v: '1',
      net: '-239',
      id: '(-1,8000000000000000,1)',
      // Block (-1,8000000000000000,1) of mainnet, as in every explorer.
      rh: 'f0662186b8a077c0b0646ad14f9f62ba52c372089362ebce033149c6e81cd13b',
      fh: '57e5f3ca4130ba7e3278f6610043d993bed16cc7cc3a04bf4b81a226448a63ab',
      mc: '1',
      seal: '1',
      ut: '1573822385',
      rx: '1573822386123',
      src: 'file',
    });
  });

  it('are refused when the bytes do not have the file hash, at append and at read', () => {
    const [block] = recordedBlocks(1);
    const boc = Buffer.from(block.boc);
    boc[100] ^= 1;
    expect(() => encodeBlockRecord({ ...block, boc })).toThrow('SHA-256');
    const damaged = stored({ ...encodeBlockRecord(block), value: boc });
    expect(() => decodeBlockRecord(damaged, 'ton.blocks.v1')).toThrow(
      'ton.blocks.v1, offset 7: value: SHA-256 is not the file hash in header fh',
    );
    expect(decodeEnvelope(damaged, 't').mcSeqno).toBe(1);
  });

  it.each([
    ['v', '2'],
    ['id', '(0,8000000000000000,1)'],
    ['id', '0,8000000000000000,1'],
    ['rh', 'xyz'],
    ['fh', undefined],
    ['mc', '1.5'],
    ['seal', ''],
    ['net', '9007199254740993'],
    ['src', 'elsewhere'],
  ])('name the header at fault: %s = %s', (name, value) => {
    const record = stored(encodeBlockRecord(recordedBlocks(1)[0]));
    if (value === undefined) delete record.headers[name];
    else record.headers[name] = value;
    expect(() => decodeBlockRecord(record, 't')).toThrow(
      expect.objectContaining({ name: 'EnvelopeError', topic: 't', offset: 7, field: name }),
    );
  });
});

describe('frames', () => {
  it('are refused when any byte is changed or the end is missing', () => {
    const frame = encodeFrame({ key: 'ключ', headers: { a: 'b', c: '' }, value: Buffer.from('value') }, 1234.5);
    expect(decodeFrame(frame, 't', 3)).toEqual({
      offset: 3,
      time: 1234.5,
      key: 'ключ',
      headers: { a: 'b', c: '' },
      value: Buffer.from('value'),
    });
    for (let at = 0; at < frame.length; at++) {
      const damaged = Buffer.from(frame);
      damaged[at] ^= 0x10;
      expect(() => decodeFrame(damaged, 't', 3), `byte ${at}`).toThrow('topic t, offset 3');
      expect(() => decodeFrame(frame.subarray(0, at), 't', 3), `cut at ${at}`).toThrow('topic t, offset 3');
    }
  });
});

describe('dead letters', () => {
  const letter = {
    topic: 'ton.blocks.v1',
    first: 10,
    last: 12,
    mcSeqno: 5,
    projection: 'tables',
    version: 3,
    error: { name: 'CodecError', message: 'block/extra: cut short' },
    atMs: 1_700_000_000_000,
  };

  it('come back as they were written', () => {
    const record = encodeDeadLetter(letter);
    expect(record.key).toBe('ton.blocks.v1:10');
    expect(decodeDeadLetter(stored(record), 'ton.dead.v1')).toEqual(letter);
  });

  it('are refused with their place when they are not of the schema', () => {
    const record = encodeDeadLetter(letter);
    const refuse = (value: string) => () => decodeDeadLetter(stored({ ...record, value: Buffer.from(value) }), 'd');
    expect(refuse('{')).toThrow('d, offset 7: value: not JSON');
    expect(refuse('{"topic":"x"}')).toThrow('d, offset 7: value');
  });
});

describe('topics', () => {
  it('have a prefix, a version and a retention', () => {
    expect(topicNames()).toEqual({
      blocks: 'ton.blocks.v1',
      cells: 'ton.cells.v1',
      dead: 'ton.dead.v1',
      steps: 'ton.steps.v1',
      pending: 'ton.pending.v1',
      documents: 'ton.documents.v1',
      missing: 'ton.missing.v1',
      wishes: 'ton.wishes.v1',
      mentions: 'ton.mentions.v1',
      pendingTraces: 'ton.pending-traces.v1',
    });
    expect(topicNames('ton.testnet').blocks).toBe('ton.testnet.blocks.v1');
    expect(topicRetentionMs('ton.testnet.blocks.v1')).toBe(-1);
    expect(topicRetentionMs('ton.pending.v1')).toBe(3_600_000);
    // Kept as the settings say, by who publishes.
    expect(topicRetentionMs('ton.steps.v1')).toBe(-1);
  });
});
