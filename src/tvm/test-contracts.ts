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
  /** The same, left by `RETALT`. */
  alternateList: (items: number): Cell => code(`306d81${u16(items)}9471016f02e4db31`),
  /** A pair of a value with itself, so many times over: 2^n values when written out. */
  doubled: (times: number): Cell => code(`306d81${u16(times)}93206f02e4`),
  /** `AGAIN` of nothing. */
  endless: code('3090ea'),
  /** `PUSH c4, NEWC`, an empty `PUSHCONT`, `PUSHNAN`, an empty tuple. */
  kinds: code('30ed44c89083ff6f00'),
};
const withRefs = (hex: string, ...refs: Cell[]): Cell =>
  refs.reduce((builder, ref) => builder.ref(ref), new Builder().bytes(Buffer.from(`ff00${hex}`, 'hex'))).cell();

/** Contracts that take messages. */
export const assembled = {
  /** `ACCEPT`. */
  accepts: code('f800'),
  /** `THROW 40`. */
  refuses: code('f228'),
  /** `ACCEPT, COMMIT`, then `THROW 40`. */
  fails: code('f800f228'),
  /** `PUSHINT 1`, a slice of 512 bits, `PUSHINT 1, CHKSIGNU, THROWIFNOT 40, ACCEPT`: no signature of anything. */
  checksSignature: code('7171c8cbff7101cbffc9d071f910f2a8f800'),
  /** Accepts where it has so much (under 2^26): `BALANCE, FIRST, PUSHINT, EQUAL, THROWIFNOT 40, ACCEPT`. */
  acceptsBalance: (nanotons: number): Cell =>
    code(`f8276f1082${(0x08000000 + nanotons).toString(16).padStart(8, '0')}baf2a8f800`),
  /** `ACCEPT`, then `PUSHREF, PUSHINT 0, SENDRAWMSG` for each message, three to a cell, which jumps to the next one. */
  sends: (messages: readonly Cell[]): Cell => {
    let rest: Cell | null = null;
    for (let at = Math.floor((messages.length - 1) / 3) * 3; at >= 0; at -= 3) {
      const part: readonly Cell[] = messages.slice(at, at + 3);
      const refs: readonly Cell[] = rest === null ? part : [...part, rest];
      const begin = at === 0 ? 'ff00f800' : '';
      const hex: string = `${begin}${'8870fb00'.repeat(part.length)}${rest === null ? '' : 'db3d'}`;
      rest = refs.reduce((builder, ref) => builder.ref(ref), new Builder().bytes(Buffer.from(hex, 'hex'))).cell();
    }
    return rest ?? code('f800');
  },
  /** `ACCEPT, PUSHREF, SETCODE`. */
  setsCode: withRefs('f80088fb04', new Builder().cell()),
  /** An internal message of nothing with its body in a cell of its own. */
  messageTo: (workchain: number, body: Cell): Cell =>
    new Builder()
      .u(0b0110, 4)
      .u(0, 2)
      .u(4, 3)
      .i(workchain, 8)
      .bytes(Buffer.alloc(32, 5))
      .grams(1n)
      .bit(0)
      .grams(0n)
      .grams(0n)
      .u(0, 48)
      .u(0, 48)
      .bit(0)
      .bit(1)
      .ref(body)
      .cell(),
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
