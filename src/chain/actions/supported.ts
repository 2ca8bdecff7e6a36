import { kinds } from './families.ts';
import type { Group } from './kind.ts';

/** All action types, as they are stored and filtered by. */
export const actionTypes: ReadonlySet<string> = new Set(kinds.map(({ type }) => type));

const typesOf = (groups: readonly Group[]): string[] =>
  kinds.filter((kind) => groups.some((group) => kind.groups.includes(group))).map(({ type }) => type);

/** What each shortcut of `supported_action_types` stands for: each group has one. */
const SHORTCUTS: Readonly<Record<Group | 'latest' | 'dns.v2', readonly Group[]>> = {
  v1: ['v1'],
  v2: ['v1', 'v2'],
  v3: ['v1', 'v2', 'v3'],
  v4: ['v1', 'v2', 'v3', 'v4'],
  latest: ['v1', 'v2', 'v3', 'v4'],
  staking: ['staking'],
  jettons: ['jettons'],
  nft: ['nft'],
  'nft.v3': ['nft', 'nft.v3'],
  dns: ['dns'],
  'dns.v2': ['dns'],
  multisig: ['multisig'],
  vesting: ['vesting'],
  evaa: ['evaa'],
  jvault: ['jvault'],
  coffee: ['coffee'],
  tgbtc: ['tgbtc'],
  layerzero: ['layerzero'],
  cocoon: ['cocoon'],
};

const expanded = new Map(Object.entries(SHORTCUTS).map(([name, groups]) => [name, typesOf(groups)]));

/** The empty name is left out: what is stored with it is an action that is told no more. */
const together = (names: readonly string[]): ReadonlySet<string> =>
  new Set(['v1', ...names].filter((name) => name !== '').flatMap((name) => expanded.get(name) ?? [name]));

/** Nearly every request asks for one of these alone. */
const ofShortcut = new Map(Object.keys(SHORTCUTS).map((name) => [name, together([name])]));

/**
 * The types that a client supports, by the values of `supported_action_types`: types and shortcuts. The types of `v1`
 * are always among them. The same set for the same shortcut.
 */
export function supportedTypes(names: readonly string[]): ReadonlySet<string> {
  return (names.length === 1 ? ofShortcut.get(names[0]) : undefined) ?? together(names);
}
