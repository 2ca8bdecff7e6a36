import { createHash } from 'node:crypto';
import { beginCell, Dictionary, type Cell as TonCell } from '@ton/core';
import { describe, expect, it } from 'vitest';
import { random } from '../../../test/chance.ts';
import { DecodeError } from '../errors.ts';
import { CellView } from '../layouts/cell-view.ts';
import { MAX_VALUE_BYTES, readContent, readText } from './content.ts';

const view = (cell: TonCell) => CellView.parse(cell.toBoc());
const key = (name: string) => BigInt(`0x${createHash('sha256').update(name).digest('hex')}`);
const snake = (text: string | Buffer, tag: number | null = 0) => {
  const builder = beginCell();
  if (tag !== null) builder.storeUint(tag, 8);
  return typeof text === 'string' ? builder.storeStringTail(text).endCell() : builder.storeBuffer(text).endCell();
};
const chunked = (...chunks: [number, string][]) => {
  const dictionary = Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.Cell());
  for (const [index, text] of chunks) dictionary.set(index, beginCell().storeStringTail(text).endCell());
  return beginCell().storeUint(1, 8).storeDict(dictionary).endCell();
};
/** Values in a reference each, as most contracts have them. */
const onChain = (attributes: Record<string, TonCell>) => {
  const dictionary = Dictionary.empty(Dictionary.Keys.BigUint(256), Dictionary.Values.Cell());
  for (const [name, value] of Object.entries(attributes)) dictionary.set(key(name), value);
  return view(beginCell().storeUint(0, 8).storeDict(dictionary).endCell());
};

/** Null for bytes that are no bag of cells. */
function opened(bytes: Buffer): CellView | null {
  try {
    return CellView.parse(bytes);
  } catch (error) {
    if (error instanceof DecodeError) return null;
    throw error;
  }
}

describe('content of tokens', () => {
  it('is the address of a document', () => {
    expect(readContent(view(snake('https://ton.example/x.json', 1)))).toEqual({ uri: 'https://ton.example/x.json' });
  });

  it('is a dictionary of attributes, in snake form and in chunks', () => {
    const long = 'Grüße 🙂 '.repeat(40);
    const content = onChain({
      symbol: snake('USD'),
      name: chunked([0, 'Dol'], [1, 'lar'], [3, 'lost']),
      description: snake(long),
      decimals: snake('6'),
      image_data: snake(Buffer.from([1, 2, 255])),
      secret: snake('not read'),
    });
    const read = readContent(content);
    expect(read).toEqual({ name: 'Dollar', description: long, image_data: 'AQL/', symbol: 'USD', decimals: '6' });
    expect(Object.keys(read ?? {})).toEqual(['name', 'description', 'image_data', 'symbol', 'decimals']);
  });

  it('takes values that stand in the dictionary itself', () => {
    const dictionary = Dictionary.empty(Dictionary.Keys.BigUint(256), {
      serialize: (value: string, builder) => builder.storeUint(0, 8).storeStringTail(value),
      parse: () => '',
    });
    dictionary.set(key('symbol'), 'TON');
    expect(readContent(view(beginCell().storeUint(0, 8).storeDict(dictionary).endCell()))).toEqual({ symbol: 'TON' });
  });

  it('leaves out what does not parse and keeps the rest', () => {
    const content = onChain({
      name: beginCell().storeUint(7, 8).endCell(),
      symbol: snake(Buffer.from([0xff, 0xfe])),
      description: beginCell().storeUint(0, 8).storeUint(1, 3).endCell(),
      uri: snake('ipfs://x'),
    });
    expect(readContent(content)).toEqual({ uri: 'ipfs://x' });
  });

  it('reads the named attributes alone, whatever the other keys lead to', () => {
    const dictionary = Dictionary.empty(Dictionary.Keys.BigUint(256), Dictionary.Values.Cell());
    dictionary.set(0n, snake('no attribute')).set(key('uri'), snake('ipfs://x')).set(key('symbol'), snake('USD'));
    // Forks over the first bit, and below its 0 over the second: behind that of the zeros is no part of a dictionary.
    const [zero, one] = beginCell().storeDictDirect(dictionary).endCell().refs;
    const fork = (left: TonCell, right: TonCell) =>
      beginCell().storeUint(0, 2).storeRef(left).storeRef(right).endCell();
    const content = (left: TonCell) =>
      view(
        beginCell()
          .storeUint(0, 8)
          .storeMaybeRef(fork(fork(left, zero.refs[1]), one))
          .endCell(),
      );
    expect(readContent(content(zero.refs[0]))).toEqual({ uri: 'ipfs://x', symbol: 'USD' });
    expect(readContent(content(beginCell().endCell()))).toEqual({ uri: 'ipfs://x', symbol: 'USD' });
    expect(readContent(view(beginCell().storeUint(0, 8).storeMaybeRef(fork(zero, zero)).endCell()))).toEqual({
      uri: 'ipfs://x',
    });
  });

  it('is none whose dictionary is broken on the way to an attribute', () => {
    const broken = beginCell().storeUint(0, 2).storeRef(beginCell().endCell()).endCell();
    expect(readContent(view(beginCell().storeUint(0, 8).storeMaybeRef(broken).endCell()))).toBeNull();
  });

  it('takes of a chunk what stands in its own cell', () => {
    const chunks = Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.Cell());
    chunks.set(0, beginCell().storeStringTail('Dol').storeRef(beginCell().storeStringTail('phin').endCell()).endCell());
    chunks.set(1, beginCell().storeStringTail('lar').endCell());
    expect(readContent(onChain({ name: beginCell().storeUint(1, 8).storeDict(chunks).endCell() }))).toEqual({
      name: 'Dollar',
    });
  });

  it('reads chunks up to the first that is missing, whatever comes behind', () => {
    const chunks = Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.Uint(8));
    chunks.set(3, 1);
    const value = beginCell().storeUint(1, 8).storeDict(chunks).endCell();
    expect(readContent(onChain({ name: value, symbol: snake('USD') }))).toEqual({ name: '', symbol: 'USD' });
    chunks.set(0, 1);
    const broken = beginCell().storeUint(1, 8).storeDict(chunks).endCell();
    expect(readContent(onChain({ name: broken, symbol: snake('USD') }))).toEqual({ symbol: 'USD' });
  });

  it('is nothing but its dictionary, and so is a value in chunks', () => {
    const chunks = Dictionary.empty(Dictionary.Keys.Uint(32), Dictionary.Values.Cell()).set(0, snake('Dollar', null));
    const name = beginCell().storeUint(1, 8).storeDict(chunks);
    const more = beginCell().storeUint(1, 8).storeDict(chunks).storeBit(0);
    expect(readContent(onChain({ name: name.endCell() }))).toEqual({ name: 'Dollar' });
    expect(readContent(onChain({ name: more.endCell(), symbol: snake('USD') }))).toEqual({ symbol: 'USD' });
    expect(readContent(view(beginCell().storeUint(0, 8).storeBit(0).storeBit(0).endCell()))).toBeNull();
    expect(readContent(view(beginCell().storeUint(0, 8).storeBit(0).storeRef(name.endCell()).endCell()))).toBeNull();
  });

  it('may be empty', () => {
    expect(readContent(view(beginCell().storeUint(0, 8).storeBit(0).endCell()))).toEqual({});
  });

  it('ends a long text with the last whole cell', () => {
    const cells = Math.floor((MAX_VALUE_BYTES - 126) / 127);
    const content = onChain({ description: snake('x'.repeat(10_000)) });
    expect(readContent(content)?.description).toHaveLength(126 + cells * 127);
  });

  it('is none with another tag, a text that is none, or no bits', () => {
    expect(readContent(view(beginCell().storeUint(2, 8).endCell()))).toBeNull();
    expect(readContent(view(snake(Buffer.from([0xff]), 1)))).toBeNull();
    expect(readContent(view(beginCell().endCell()))).toBeNull();
    expect(readText(view(beginCell().storeUint(1, 3).endCell()))).toBeNull();
  });

  it('throws for no cell', () => {
    const bag = onChain({ name: chunked([0, 'a'], [1, 'b']), symbol: snake('USD') }).serialize();
    let read = 0;
    for (let round = 0; round < 3000; round++) {
      const bytes = Buffer.from(bag);
      bytes[11 + random(bytes.length - 11)] ^= 1 << random(8);
      const cell = opened(bytes);
      if (cell === null) continue;
      expect(() => readContent(cell)).not.toThrow();
      read++;
    }
    expect(read).toBeGreaterThan(500);
  });
});
