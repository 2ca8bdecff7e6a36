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

/** Of an address that was not given in a friendly form: as tonlib has it, on every network. */
export const FRIENDLY = { bounceable: true, testOnly: false } as const;

/** Url-safe; `""` where there is no internal address. */
export function addressText(address: Address | null): string {
  return address === null ? '' : friendlyAddress(address, FRIENDLY);
}

export function accountAddress(address: Address | null) {
  return { '@type': 'accountAddress', account_address: addressText(address) };
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
