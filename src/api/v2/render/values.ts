/** The small values that v2's records are made of. */
import { friendlyAddress } from '../../../chain/address.ts';
import type { Address, BlockIdExt, Decimal, ExtraCurrencies, Hash, Shard } from '../../../chain/model.ts';

export const base64 = (bytes: Buffer): string => bytes.toString('base64');

/** A 64-bit number: signed decimal. */
export function signed64(value: Decimal): string {
  return BigInt.asIntN(64, BigInt(value)).toString();
}

export function shardNumber(shard: Shard): string {
  return BigInt.asIntN(64, BigInt(`0x${shard}`)).toString();
}

/** Bounceable and url-safe; `""` where there is no internal address. */
export function addressText(address: Address | null, testOnly: boolean): string {
  return address === null ? '' : friendlyAddress(address, { bounceable: true, testOnly });
}

export function accountAddress(address: Address | null, testOnly: boolean) {
  return { '@type': 'accountAddress', account_address: addressText(address, testOnly) };
}

export function blockId({ workchain, shard, seqno, rootHash, fileHash }: BlockIdExt) {
  return {
    '@type': 'ton.blockIdExt',
    workchain,
    shard: shardNumber(shard),
    seqno,
    root_hash: base64(rootHash),
    file_hash: base64(fileHash),
  };
}

export function transactionId(lt: Decimal, hash: Hash) {
  return { '@type': 'internal.transactionId', lt: signed64(lt), hash: base64(hash) };
}

const MAX_INT64 = 2n ** 63n - 1n;

/** Amounts are cut to 63 bits, as tonlib's are; ids are signed there. */
export function extraCurrencies(currencies: ExtraCurrencies | null) {
  return Object.entries(currencies ?? {}).map(([id, amount]) => ({
    '@type': 'extraCurrency',
    id: Number(id) | 0,
    amount: (BigInt(amount) > MAX_INT64 ? MAX_INT64 : BigInt(amount)).toString(),
  }));
}
