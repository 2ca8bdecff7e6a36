/** Contracts in machine code that the compared chain begins with, for what no contract of its people leaves or takes. */
import { addressOf, rawAddress } from '../../src/chain/address.ts';
import { Builder } from '../../src/chain/builder.ts';
import type { GenesisAccount } from '../../src/devnet/model.ts';
import { assembled, codes } from '../../src/tvm/test-contracts.ts';

const COIN = 1_000_000_000n;

const CODES = {
  echo: codes.echo,
  list: codes.list(900),
  longList: codes.list(2000),
  /** The longest that is given, and one more. */
  longest: codes.list(7998),
  tooLong: codes.list(7999),
  endless: codes.endless,
  accepts: assembled.accepts,
  refuses: assembled.refuses,
  fails: assembled.fails,
  checksSignature: assembled.checksSignature,
  alternate: codes.alternateList(2000),
} as const;

export type ContractName = keyof typeof CODES;
const names = Object.keys(CODES) as ContractName[];

/** Raw addresses. */
export const contracts = Object.fromEntries(
  names.map((name, at) => [name, rawAddress(addressOf(0, Buffer.alloc(32, 0xa0 + at)))]),
) as Record<ContractName, string>;

export const genesisContracts: readonly GenesisAccount[] = names.map((name, at) => ({
  workchain: 0,
  hash: Buffer.alloc(32, 0xa0 + at),
  balance: COIN,
  code: CODES[name],
  data: new Builder().u(7, 8).cell(),
}));
