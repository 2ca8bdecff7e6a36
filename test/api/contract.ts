/** Which rows a request gets, and in which order, by the contract's words (endpoints 2.2, 2.5, 2.7, 2.9). */
import type { KnownBlock, KnownMessage, KnownTransaction, Network } from './network.ts';

/** Hashes in lower-case hex, addresses raw in upper case, the rest as in a query. */
export interface Wanted {
  workchain?: number;
  shard?: string;
  seqno?: number;
  mc_seqno?: number;
  root_hash?: string;
  file_hash?: string;
  account?: string[];
  exclude_account?: string[];
  hash?: string[];
  lt?: string;
  msg_hash?: string[];
  body_hash?: string;
  /** An address, or `null` for none. */
  source?: string;
  destination?: string;
  opcode?: string;
  direction?: 'in' | 'out';
  exclude_externals?: boolean;
  only_externals?: boolean;
  start_utime?: number;
  end_utime?: number;
  start_lt?: string;
  end_lt?: string;
  sort?: 'asc' | 'desc';
}

type Compare<T> = (a: T, b: T) => number;
const order = (a: bigint | number | string, b: bigint | number | string): number => (a < b ? -1 : a > b ? 1 : 0);

/** The first comparison that tells two rows apart. */
function by<T>(...comparisons: Compare<T>[]): Compare<T> {
  return (a, b) => {
    for (const compare of comparisons) {
      const result = compare(a, b);
      if (result !== 0) return result;
    }
    return 0;
  };
}

const directed =
  <T>(sort: Wanted['sort'], compare: Compare<T>): Compare<T> =>
  (a, b) =>
    sort === 'asc' ? compare(a, b) : -compare(a, b);

/** Workchain number, then bytes. */
export function compareAddresses(a: string, b: string): number {
  const [workchainA, idA] = a.split(':');
  const [workchainB, idB] = b.split(':');
  return order(Number(workchainA), Number(workchainB)) || order(idA, idB);
}

function within(value: bigint | number, start: string | number | undefined, end: string | number | undefined): boolean {
  const exact = BigInt(value);
  return (start === undefined || exact >= BigInt(start)) && (end === undefined || exact <= BigInt(end));
}

const equal = <T>(wanted: T | undefined, value: T): boolean => wanted === undefined || wanted === value;
const among = <T>(wanted: readonly T[] | undefined, value: T): boolean => wanted?.includes(value) ?? true;
const timed = (wanted: Wanted): boolean => wanted.start_utime !== undefined || wanted.end_utime !== undefined;

export function blocksWanted({ blocks }: Network, wanted: Wanted): KnownBlock[] {
  const signed = (shard: string): bigint => BigInt.asIntN(64, BigInt(`0x${shard}`));
  return blocks
    .filter(
      ({ facts, mcSeqno }) =>
        equal(wanted.workchain, facts.workchain) &&
        equal(wanted.shard, facts.shard) &&
        equal(wanted.seqno, facts.seqno) &&
        equal(wanted.root_hash, facts.root_hash) &&
        equal(wanted.file_hash, facts.file_hash) &&
        equal(wanted.mc_seqno, mcSeqno) &&
        within(facts.gen_utime, wanted.start_utime, wanted.end_utime) &&
        within(BigInt(facts.start_lt), wanted.start_lt, wanted.end_lt),
    )
    .sort(
      by(
        directed(wanted.sort, (a, b) => order(a.facts.gen_utime, b.facts.gen_utime)),
        (a, b) => order(a.facts.workchain, b.facts.workchain),
        (a, b) => order(signed(a.facts.shard), signed(b.facts.shard)),
        directed(wanted.sort, (a, b) => order(a.facts.seqno, b.facts.seqno)),
      ),
    );
}

const lt: Compare<KnownTransaction> = (a, b) => order(BigInt(a.facts.lt), BigInt(b.facts.lt));
const now: Compare<KnownTransaction> = (a, b) => order(a.facts.now, b.facts.now);
const account: Compare<KnownTransaction> = (a, b) => compareAddresses(a.account, b.account);
const hash: Compare<KnownTransaction> = (a, b) => order(a.facts.hash, b.facts.hash);

function transactionOrder(wanted: Wanted): Compare<KnownTransaction> {
  const { sort } = wanted;
  if (wanted.lt !== undefined) return by(lt, directed(sort, account));
  if (wanted.hash !== undefined) return directed(sort, hash);
  if (timed(wanted) && wanted.mc_seqno === undefined) return by(directed(sort, now), directed(sort, lt), account);
  return by(directed(sort, lt), account);
}

export function transactionsWanted({ transactions }: Network, wanted: Wanted): KnownTransaction[] {
  return transactions
    .filter(
      ({ facts, block, account: owner }) =>
        equal(wanted.workchain, block.facts.workchain) &&
        equal(wanted.shard, block.facts.shard) &&
        equal(wanted.seqno, block.facts.seqno) &&
        equal(wanted.mc_seqno, block.mcSeqno) &&
        among(wanted.account, owner) &&
        !(wanted.exclude_account?.includes(owner) ?? false) &&
        among(wanted.hash, facts.hash) &&
        equal(wanted.lt, facts.lt) &&
        within(facts.now, wanted.start_utime, wanted.end_utime) &&
        within(BigInt(facts.lt), wanted.start_lt, wanted.end_lt),
    )
    .sort(transactionOrder(wanted));
}

/** `opcodes`: by body hash, as the facts do not name them. */
export type Opcodes = ReadonlyMap<string, string | null>;

function messageFits({ facts, source, destination }: KnownMessage, wanted: Wanted, opcodes: Opcodes): boolean {
  const { msg_hash: hashes } = wanted;
  const side = (text: string | undefined, value: string | null) => equal(text === 'null' ? null : text, value);
  return (
    (hashes === undefined || hashes.includes(facts.hash) || hashes.includes(facts.hash_norm ?? '')) &&
    equal(wanted.body_hash, facts.body_hash) &&
    side(wanted.source, source) &&
    side(wanted.destination, destination) &&
    (wanted.opcode === undefined || opcodes.get(facts.body_hash) === wanted.opcode)
  );
}

export function messagesWanted({ messages }: Network, wanted: Wanted, opcodes: Opcodes): KnownMessage[] {
  const key = ({ facts }: KnownMessage): bigint | null => {
    const value = timed(wanted) ? facts.created_at : facts.created_lt;
    return value === undefined ? null : BigInt(value);
  };
  const inWindows = ({ facts }: KnownMessage): boolean => {
    const windowed = timed(wanted) || wanted.start_lt !== undefined || wanted.end_lt !== undefined;
    if (facts.created_lt === undefined || facts.created_at === undefined) return !windowed;
    return (
      within(facts.created_at, wanted.start_utime, wanted.end_utime) &&
      within(BigInt(facts.created_lt), wanted.start_lt, wanted.end_lt)
    );
  };
  return [...messages.values()]
    .filter(
      (message) =>
        messageFits(message, wanted, opcodes) &&
        (wanted.direction !== 'in' || message.receiver !== null) &&
        (wanted.direction !== 'out' || message.sender !== null) &&
        inWindows(message) &&
        !(wanted.exclude_externals === true && key(message) === null) &&
        !(wanted.only_externals === true && key(message) !== null),
    )
    .sort(
      by(
        // As in PostgreSQL null is the greatest: first for desc, last for asc.
        directed(wanted.sort, (a, b) => order(key(a) === null ? 1 : 0, key(b) === null ? 1 : 0)),
        directed(wanted.sort, (a, b) => order(key(a) ?? 0n, key(b) ?? 0n)),
        directed(wanted.sort, (a, b) => order(a.facts.hash, b.facts.hash)),
      ),
    );
}

/** Each transaction once; `opcode` asks for receivers only. */
export function transactionsByMessageWanted(network: Network, wanted: Wanted, opcodes: Opcodes): KnownTransaction[] {
  const found = new Set<KnownTransaction>();
  if (wanted.opcode !== undefined && wanted.direction === 'out') return [];
  const direction = wanted.opcode === undefined ? wanted.direction : 'in';
  for (const message of network.messages.values()) {
    if (!messageFits(message, wanted, opcodes)) continue;
    if (direction !== 'in' && message.sender) found.add(message.sender);
    if (direction !== 'out' && message.receiver) found.add(message.receiver);
  }
  return [...found].sort(by(directed(wanted.sort, lt), account));
}

/** Parent and children. */
export function adjacentWanted(
  { messages }: Network,
  { facts }: KnownTransaction,
  direction?: 'in' | 'out',
): KnownTransaction[] {
  const found = new Set<KnownTransaction>();
  const parent = facts.in_msg && messages.get(facts.in_msg.hash)?.sender;
  if (direction !== 'out' && parent) found.add(parent);
  for (const { hash: sent } of direction === 'in' ? [] : facts.out_msgs) {
    const child = messages.get(sent)?.receiver;
    if (child) found.add(child);
  }
  return [...found].sort(by(lt, account));
}
