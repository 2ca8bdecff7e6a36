/** What running contracts reads of a configuration (`Hashmap 32 ^Cell`; ConfigParam: crypto/block/block.tlb). */
import { workchainOf } from '../chain/address.ts';
import { Builder, type Cell, Slice } from '../chain/builder.ts';
import { type Change, findLeaf, plain, updateDictionary } from '../chain/dictionary.ts';
import type { Address } from '../chain/model.ts';

/** Newest `global_version` and all capabilities that the executor was built to know (doc/GlobalVersions.md). */
export const KNOWN_VERSION = { version: 13, capabilities: 0x3ffn } as const;

/** Parameter 8. */
export interface GlobalVersion {
  version: number;
  capabilities: bigint;
}

/** A parameter's cell, null when it is not set. Throws DecodeError. */
export function configParam(config: Cell, index: number): Cell | null {
  const leaf = findLeaf(config, 32, keyOf(index));
  return leaf === null ? null : leaf.ref();
}

/** Parameter 8; versions before it was set count as 0. Throws DecodeError. */
export function globalVersion(config: Cell): GlobalVersion {
  const cell = configParam(config, 8);
  if (cell === null) return { version: 0, capabilities: 0n };
  const slice = new Slice(cell).tag(8, 0xc4, 'GlobalVersion');
  return { version: slice.u(32), capabilities: slice.big(64) };
}

/**
 * Whether an account may not be deployed at a time (Unix seconds): parameter 44, `suspended_address_list#00
 * addresses:(HashmapE 288 Unit) suspended_until:uint32` (crypto/block/block.tlb). Throws DecodeError.
 */
export function isSuspended(config: Cell, account: Address, utime: number): boolean {
  const cell = configParam(config, 44);
  if (cell === null) return false;
  const slice = new Slice(cell).tag(8, 0, 'SuspendedAddressList');
  const addresses = slice.bit() ? slice.ref() : null;
  if (utime >= slice.u(32)) return false;
  const key = Buffer.from(account);
  key.writeInt32BE(workchainOf(account));
  return findLeaf(addresses, 288, key) !== null;
}

/** What of a configuration is newer than the executor; null when it knows all of it. */
export function beyondExecutor(config: Cell): string | null {
  const { version, capabilities } = globalVersion(config);
  if (version > KNOWN_VERSION.version) {
    return `the chain runs global version ${version}, the executor knows up to ${KNOWN_VERSION.version}`;
  }
  const unknown = capabilities & ~KNOWN_VERSION.capabilities;
  return unknown === 0n ? null : `the chain has capabilities 0x${unknown.toString(16)} that the executor does not know`;
}

/** How much of a configuration a get-method is run with: each has what the one before it has. */
export const CONFIG_PARTS = ['limits', 'prices', 'whole'] as const;
export type ConfigPart = (typeof CONFIG_PARTS)[number];

/**
 * Parameters that the executor itself reads for a get-method (prepare_vm_c7, crypto/smc-envelope/SmartContract.cpp).
 * `limits`: the version and the sizes of what a run may build, which count for every run. `prices`: besides, what stands
 * in the unpacked configuration, which is there for contracts that look at it, and precompiled contracts.
 */
const LIMITS = [8, 43] as const;
const READ_BY_EXECUTOR = {
  limits: LIMITS,
  prices: [...LIMITS, 12, 18, 19, 20, 21, 24, 25, 31, 45],
} as const;

/**
 * The configuration cut down to a part. With mainnet's, parsing the whole takes most of a call, and with any, parsing
 * `prices` takes a fifth of one. What a contract may have seen of the rest {@link partSeen} tells.
 */
export function cutConfig(config: Cell, part: Exclude<ConfigPart, 'whole'>): Cell {
  const changes: Change<null>[] = [];
  for (const index of READ_BY_EXECUTOR[part]) {
    const cell = configParam(config, index);
    if (cell !== null)
      changes.push({ key: keyOf(index), leaf: { extra: null, value: new Builder().ref(cell).cell() } });
  }
  return updateDictionary(null, 32, plain, changes).root ?? config;
}

/**
 * Instructions that can bring the root of the configuration, what the executor looks up in it, or the previous blocks
 * to light: all that read c7 as a whole or by an index of their own, and those that older versions served from the root.
 */
const SEES_WHOLE = /^execute (CONFIG|GETPARAM|GETGLOBVAR|GLOBALID|SENDMSG|PUSHCTRX|PUSH c7|PREV)/m;

/** Those that read the unpacked configuration, or the gas of a precompiled contract. */
const SEES_PRICES = /^execute (UNPACKEDCONFIG|GET[A-Z]*FEE|GETPRECOMPILEDGAS)/m;

/** The part of the configuration that a run could have read, told from the instructions that the executor logged. */
export function partSeen(log: string): ConfigPart {
  if (SEES_WHOLE.test(log)) return 'whole';
  return SEES_PRICES.test(log) ? 'prices' : 'limits';
}

function keyOf(index: number): Buffer {
  const key = Buffer.alloc(4);
  key.writeInt32BE(index);
  return key;
}
