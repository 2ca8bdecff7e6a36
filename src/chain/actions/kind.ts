import type { Block, BlockKind } from './block.ts';
import type { Columns, Details } from './details.ts';
import type { KnownContracts } from './known.ts';
import { beginnings, type Match, match, type Pattern } from './pattern.ts';

/** Shortcuts of `supported_action_types`; `v1` is always supported, each version holds the one before it. */
export type Group =
  | 'v1'
  | 'v2'
  | 'v3'
  | 'v4'
  | 'staking'
  | 'jettons'
  | 'nft'
  | 'nft.v3'
  | 'dns'
  | 'multisig'
  | 'vesting'
  | 'evaa'
  | 'jvault'
  | 'coffee'
  | 'tgbtc'
  | 'layerzero'
  | 'cocoon';

/** What a matcher made of the blocks that fit. */
export interface Reading<T> {
  data: T;
  /** False by default: what is told has happened. */
  failed?: boolean;
  /** What becomes part of the action; by default everything that fitted. */
  blocks?: Iterable<Block>;
  /** See `Merge.under`. */
  under?: Block;
}

export interface Matcher<T> {
  /** Place in the order in which matchers are applied to a trace: merged blocks are gone for later ones. */
  readonly rank: number;
  readonly pattern: Pattern;
  /** For messages that a wallet was asked to send and did not, instead of those of the trace. */
  readonly ghosts?: boolean;
  /** Null when the blocks are not this action after all. A DecodeError of a body means the same. */
  readonly read: (found: Match, known: KnownContracts) => Reading<T> | null;
}

/** One way an action comes about: what it matches, what it reads, what it prints. `T` is what it read. */
export interface Declaration<T> {
  /** Internal name; part of the action's id, and how patterns of other kinds refer to it. */
  readonly block: string;
  /** The printed type, `block` by default. */
  readonly type?: string;
  /** Shortcuts the type belongs to. */
  readonly groups: readonly Group[];
  /** False: what was merged is told, too, each as an action with this one as its parent. */
  readonly leaf: boolean;
  readonly matchers?: readonly Matcher<T>[];
  readonly details: (data: T, block: Block) => Details;
  readonly accounts: (data: T, block: Block) => Columns;
}

/** A matcher with its reader's type left out. */
export interface Attempt {
  readonly kind: Kind;
  readonly rank: number;
  readonly ghosts: boolean;
  /** Opcodes and block names the pattern begins with, null for any. */
  readonly beginnings: readonly (number | string)[] | null;
  attempt(block: Block, known: KnownContracts): { found: Match; reading: Reading<unknown> } | null;
}

/** A kind of block, with the ways it comes about. */
export interface Kind<T = unknown> extends BlockKind<T> {
  readonly groups: readonly Group[];
  readonly attempts: readonly Attempt[];
}

export function declare<T>(declaration: Declaration<T>): Kind<T> {
  const kind: Kind<T> = {
    block: declaration.block,
    type: declaration.type ?? declaration.block,
    groups: declaration.groups,
    leaf: declaration.leaf,
    // Blocks of a kind are made with its own data only.
    of: (block) => (block !== null && block.kind === kind ? (block.data as T) : null),
    details: (block) => declaration.details(block.data as T, block),
    accounts: (block) => declaration.accounts(block.data as T, block),
    attempts: (declaration.matchers ?? []).map(({ rank, pattern, read, ghosts = false }) => ({
      get kind() {
        return kind;
      },
      rank,
      ghosts,
      beginnings: beginnings(pattern),
      attempt(block, known) {
        const found = match(pattern, block, known);
        const reading = found === null ? null : read(found, known);
        return found === null || reading === null ? null : { found, reading };
      },
    })),
  };
  return kind;
}

/** For keys that are left out when there is no value. */
export function given<T>(value: T | null): T | undefined {
  return value ?? undefined;
}

/** `0x%08x`. */
export function opcodeText(opcode: number): string {
  return `0x${opcode.toString(16).padStart(8, '0')}`;
}
