/** What is said of tokens, from content and documents that are made up. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { addressOf, rawAddress } from '../../../chain/address.ts';
import type { ContractSource, ShownTokens, TokenDocument } from '../../../chain/contract-records.ts';
import { metadataJson } from './metadata.ts';

const TOKEN = addressOf(0, Buffer.alloc(32, 1));
const URI = 'https://ton.example/1.json';
const NONE: ShownTokens = { items: [], collections: [], masters: [], wallets: [] };
const context = { signal: AbortSignal.timeout(60_000), timeoutMs: 60_000 };
const shape = z.record(z.string(), z.object({ is_indexed: z.boolean(), token_info: z.array(z.looseObject({})) }));

/** What is said of an item with this content, once its document was fetched. */
async function told(content: object, document: object) {
  const nothing = { tokens: async () => ({ items: [], collections: [], masters: [], wallets: [] }) };
  const documents = new Map<string, TokenDocument>([[URI, { content: JSON.stringify(document) }]]);
  const item = { address: TOKEN, nftIndex: '7', content: JSON.stringify({ uri: URI, ...content }) };
  const text = await metadataJson([], { ...nothing, documents: async () => documents }, context, {
    fresh: { ...NONE, items: [item] },
  });
  return shape.parse(JSON.parse(text))[rawAddress(TOKEN)].token_info[0];
}

const picture = {
  image: 'https://ton.example/1.png',
  _image_small: 'https://ton.example/other.png',
  image_data: 'AA==',
};

it('other members of a document are said unchanged, but for pictures that are not its own to name', async () => {
  const named = { name: 'Item', attributes: [{ value: null }], ...picture };
  expect(await told({}, { ...named, _image_medium: 1, _image_big_blur: {} })).toEqual({
    valid: true,
    type: 'nft_items',
    name: 'Item',
    image: picture.image,
    nft_index: '7',
    is_nsfw: false,
    is_scam: false,
    extra: { uri: URI, attributes: [{ value: null }], image_data: 'AA==' },
  });
});

it('they are members like others where there is no picture', async () => {
  const { extra } = await told({}, { name: 'Item', image: 7, _image_small: 'x' });
  expect(extra).toEqual({ uri: URI, image: 7, _image_small: 'x' });
});

it('halves of surrogate pairs, which strict readers of JSON refuse, are told as U+FFFD', async () => {
  const half = '\ud83d';
  const odd = { name: `a${half}`, [`k${half}`]: [`\\${half}`, '\\ud83d', '\\\\ud83d'], pair: '🦄' };
  expect(await told({}, odd)).toMatchObject({
    name: 'a\ufffd',
    extra: { 'k\ufffd': ['\\\ufffd', '\\ud83d', '\\\\ud83d'], pair: '🦄' },
  });
});

it('the chain goes before a document', async () => {
  const info = await told(
    { name: 'Chain', domain: 'a.ton' },
    { name: 'Document', description: 'of it', domain: 'b.ton' },
  );
  expect(info).toMatchObject({ name: 'Chain', description: 'of it', extra: { domain: 'a.ton' } });
});

/** What is said of a jetton master with this content. */
async function toldOfMaster(
  content: object,
  documents: ReadonlyMap<string, { content: string | null }>,
): Promise<unknown> {
  const master = { address: TOKEN, jettonContent: JSON.stringify(content) };
  const fresh = { items: [], collections: [], masters: [master], wallets: [] } as unknown as ShownTokens;
  const contracts = { documents: async () => documents } as unknown as ContractSource;
  const [value] = Object.values(JSON.parse(await metadataJson([], contracts, context, { fresh })));
  return value;
}

it('tells what the chain has of a jetton also while its document was not fetched, or when it is none', async () => {
  // The wallet kit reads `extra.decimals` of every master among the metadata.
  const extra = { uri: URI, decimals: '6' };
  expect(await toldOfMaster(extra, new Map())).toEqual({
    is_indexed: false,
    token_info: [{ type: 'jetton_masters', extra }],
  });
  expect(await toldOfMaster(extra, new Map([[URI, { content: null }]]))).toEqual({
    is_indexed: true,
    token_info: [{ valid: false, type: 'jetton_masters', extra }],
  });
  expect(await toldOfMaster({}, new Map())).toEqual({
    is_indexed: true,
    token_info: [{ valid: false, type: 'jetton_masters', extra: {} }],
  });
});

it('nor does the document of such a jetton name its pictures', async () => {
  const document = { content: JSON.stringify({ ...picture, decimals: 6, name: 7 }) };
  expect(await toldOfMaster({ uri: URI }, new Map([[URI, document]]))).toEqual({
    is_indexed: true,
    token_info: [
      { valid: false, type: 'jetton_masters', extra: { uri: URI, image_data: 'AA==', decimals: 6, name: 7 } },
    ],
  });
});
