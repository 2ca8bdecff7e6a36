/** NFT items and collections by code: TEP-62 (ton-blockchain/token-contract, `nft`). */
import { addressOrNone } from '../layouts/addresses.ts';
import { u64 } from '../layouts/numbers.ts';
import { cell, record, ref } from '../layouts/shapes.ts';
import { contentCell, readContent } from './content.ts';
import { contractLayout, type NftCollectionState, type NftItemState } from './reader.ts';

const itemData = record(null, { index: u64, collection: addressOrNone, owner: addressOrNone, content: cell });

/** An item that its collection has filled. One that it has not has no owner: its get-method tells. */
export const referenceItem = contractLayout(
  itemData,
  (fields): NftItemState => ({
    kind: 'nft_item',
    ...fields,
  }),
);

const collectionData = record(null, {
  owner: addressOrNone,
  nextItemIndex: u64,
  contents: ref(record(null, { collection: contentCell, common: cell })),
  itemCode: cell,
  royalty: cell,
});

export const referenceCollection = contractLayout(collectionData, (fields): NftCollectionState | null => {
  const content = readContent(fields.contents.collection);
  if (content === null) return null;
  return { kind: 'nft_collection', nextItemIndex: fields.nextItemIndex, content, owner: fields.owner };
});
