/** The spellings of addresses and hashes that the contract accepts (endpoints 1.6); addresses are made by @ton/core. */
import { Address } from '@ton/core';
import type { Query } from './client.ts';
import type { Wanted } from './contract.ts';
import { base64 } from './network.ts';

type Friendly = { bounceable: boolean; testOnly: boolean; urlSafe: boolean };

const friendly = (options: Friendly) => (raw: string) => Address.parseRaw(raw).toString(options);

/** From raw upper-case form. */
export const ADDRESS_FORMS: ((raw: string) => string)[] = [
  (raw) => raw,
  (raw) => raw.toLowerCase(),
  ...[true, false].flatMap((bounceable) =>
    [true, false].flatMap((testOnly) => [true, false].map((urlSafe) => friendly({ bounceable, testOnly, urlSafe }))),
  ),
];

/** From lower-case hex. */
export const HASH_FORMS: ((hex: string) => string)[] = [
  (hex) => hex,
  (hex) => hex.toUpperCase(),
  (hex) => `0x${hex}`,
  base64,
  (hex) => base64(hex).replaceAll('+', '-').replaceAll('/', '_'),
];

/** What is wanted as a query, with hashes in base64. */
export function inBase64(wanted: Wanted): Query {
  const { hash, msg_hash, body_hash, root_hash, file_hash, ...rest } = wanted;
  return {
    ...rest,
    hash: hash?.map(base64),
    msg_hash: msg_hash?.map(base64),
    body_hash: body_hash === undefined ? undefined : base64(body_hash),
    root_hash: root_hash === undefined ? undefined : base64(root_hash),
    file_hash: file_hash === undefined ? undefined : base64(file_hash),
  };
}
