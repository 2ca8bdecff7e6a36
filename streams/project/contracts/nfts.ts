import { nftCollectionStates, nftCollections, nftItemStates, nftItems } from '../../../clickhouse/tables/nfts.ts';
import { readContent } from '../../../src/chain/contracts/content.ts';
import type { CellView } from '../../../src/chain/layouts/cell-view.ts';
import type { Address, Decimal } from '../../../src/chain/model.ts';
import { readDomain } from './domains.ts';
import { readKnown } from './jettons.ts';
import { type Asking, answersOf, jsonOf, kind } from './kinds.ts';
import { intArgument, OtherKind, sameAddress } from './stack.ts';
import type { Subject } from './subject.ts';

export const nftCollection = kind(
  'nft_collection',
  nftCollections,
  { methods: ['get_collection_data'] },
  async (subject, ask) => {
    const known = readKnown(subject);
    if (known?.kind === 'nft_collection') {
      const { nextItemIndex, content, owner } = known;
      return { nextItemIndex, ownerAddress: owner, collectionContent: jsonOf(content) };
    }
    const results = await ask.call(subject, 'get_collection_data');
    const content = readContent(results.view(1));
    if (content === null) throw new OtherKind('its content is none');
    return {
      nextItemIndex: results.int(0),
      ownerAddress: results.addressOrNone(2),
      collectionContent: jsonOf(content),
    };
  },
  { states: nftCollectionStates },
);

interface OwnState {
  init: boolean;
  index: bigint;
  collection: Address | null;
  owner: Address | null;
  content: CellView;
}

export const nftItem = kind(
  'nft_item',
  nftItems,
  { methods: ['get_nft_data'] },
  async (subject, ask) => {
    const { init, index, collection, owner, content } = await itemState(subject, ask);
    const isDomain = collection !== null && ask.isDnsCollection(collection);
    const shown = readContent(
      collection === null ? content : await contentBy(collection, { subject, index, content }, ask),
    );
    if (shown === null) throw new OtherKind('its content is none');
    const domain = isDomain ? await readDomain(subject, ask) : null;
    return {
      init,
      nftIndex: unsigned(index),
      collectionAddress: collection,
      ownerAddress: owner,
      content: jsonOf(domain === null ? shown : { ...shown, domain }),
    };
  },
  {
    states: nftItemStates,
    tie: {
      columns: 'owner_address, collection_address, toInt256(0)',
      of: ({ ownerAddress, collectionAddress }) => ({ owner: ownerAddress, of: collectionAddress, balance: '0' }),
    },
  },
);

/** Null for what an index of 256 bits cannot be. */
function unsigned(index: bigint): Decimal | null {
  return index < 0n || index >= (1n << 256n) - 1n ? null : index.toString();
}

/** What the item tells of itself. */
export async function itemState(subject: Subject, ask: Asking): Promise<OwnState> {
  const known = readKnown(subject);
  if (known?.kind === 'nft_item') {
    const { index, collection, owner, content } = known;
    return { init: true, index: BigInt(index), collection, owner, content };
  }
  const results = await ask.call(subject, 'get_nft_data');
  return {
    init: results.flag(0),
    index: results.big(1),
    collection: results.addressOrNone(2),
    owner: results.addressOrNone(3),
    content: results.view(4),
  };
}

/** The content as the collection puts it together, once it has confirmed the item. */
async function contentBy(
  collection: Address,
  { subject, index, content }: { subject: Subject; index: bigint; content: CellView },
  ask: Asking,
): Promise<CellView> {
  const by = await ask.contract(collection, 'get_nft_address_by_index');
  const [address, whole] = await answersOf([
    ask.call(by, 'get_nft_address_by_index', [intArgument(index)]),
    ask.call(by, 'get_nft_content', [intArgument(index), { type: 'cell', cell: content.build() }]),
  ]);
  if (!sameAddress(address.address(0), subject.account)) throw new OtherKind('its collection has another item');
  return whole.view(0);
}
