/** Contracts in machine code, for tests: each begins with `SETCP0`, and most drop the id of the method. */
import { addressOf } from '../chain/address.ts';
import { Builder, type Cell } from '../chain/builder.ts';
import { plain, updateDictionary } from '../chain/dictionary.ts';
import { type ContractState, contractState } from './contract.ts';

const code = (hex: string): Cell => new Builder().bytes(Buffer.from(`ff00${hex}`, 'hex')).cell();
const u16 = (value: number): string => value.toString(16).padStart(4, '0');

export const codes = {
  /** Leaves its arguments. */
  echo: code('30'),
  /** `PUSH c7`. */
  registers: code('30ed47'),
  /** `CONFIGROOT`. */
  configRoot: code('30f829'),
  /** `CONFIGPARAM` of its argument. */
  configParam: code('30f832'),
  /** `GETPARAM 14`: the unpacked configuration. */
  unpackedConfig: code('30f82e'),
  /** `PUSH c7, INDEX 0, SWAP, INDEXVAR`: what stands at a place of the environment. */
  environment: code('30ed476f10016f81'),
  /** A list of so many ones: `NULL`, then `PUSHINT 1, SWAP, PAIR` in a loop. */
  list: (items: number): Cell => code(`306d81${u16(items)}9471016f02e4`),
  /** A pair of a value with itself, so many times over: 2^n values when written out. */
  doubled: (times: number): Cell => code(`306d81${u16(times)}93206f02e4`),
  /** `AGAIN` of nothing. */
  endless: code('3090ea'),
  /** `PUSH c4, NEWC`, an empty `PUSHCONT`, `PUSHNAN`, an empty tuple. */
  kinds: code('30ed44c89083ff6f00'),
};

/** A configuration with nothing but a version. */
export function versionConfig(version: number, capabilities: bigint): Cell {
  const param = new Builder().u(0xc4, 8).u(version, 32).big(capabilities, 64).cell();
  const leaf = { extra: null, value: new Builder().ref(param).cell() };
  const { root } = updateDictionary(null, 32, plain, [{ key: Buffer.from([0, 0, 0, 8]), leaf }]);
  if (root === null) throw new Error('a dictionary with one key has a root');
  return root;
}

export const address = addressOf(0, Buffer.alloc(32, 7));

export function stateOf(
  of: Cell,
  more: { data?: Cell; balance?: string; extra?: Record<string, string> } = {},
): ContractState {
  const { data = new Builder().cell(), balance = '12345', extra = {} } = more;
  return contractState({ address, code: of, data, balance, extraCurrencies: extra });
}
