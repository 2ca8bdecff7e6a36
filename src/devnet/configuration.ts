import { createHash } from 'node:crypto';
import { Builder, type Cell, type Visit } from '../chain/builder.ts';
import { plain, updateDictionary } from '../chain/dictionary.ts';
import type { Hash } from '../chain/model.ts';
import { EMPTY, KEY_BITS } from './augmentations.ts';

/** Global version of the rules: the newest that the executor knows. */
export const GLOBAL_VERSION = 13;

/** Bounced bodies (4), versions in headers (8), short dequeue records (32), queue sizes in states (64). */
export const CAPABILITIES = 4n | 8n | 32n | 64n;

export const CONFIG_ADDRESS: Hash = Buffer.alloc(32, 0x55);
export const ELECTOR_ADDRESS: Hash = Buffer.alloc(32, 0x33);

/** Where names begin to be resolved (`dns_root_addr`): as on the network that clients know. */
export const DNS_ROOT_ADDRESS: Hash = Buffer.from(
  'e56754f83426f69b09267bd876ac97c44821345b7e266bd956a7bfbfb98df35c',
  'hex',
);

/** `cur_validators`. */
const VALIDATORS = 34;

/** What the configuration names besides fixed prices and limits. */
export interface ConfigurationInput {
  globalId: number;
  /** Unix seconds. */
  startUtime: number;
  /** Zero state of the basechain. */
  rootHash: Hash;
  fileHash: Hash;
  /** `ValidatorSet` of those that sign the first blocks. */
  validators: Cell;
  /** Masterchain accounts that pay no fees and may run by tick and tock. */
  special: readonly Hash[];
}

/** SHA-256 of the seed and what it is for: keys and rand seeds of a chain. */
export function derive(seed: string, ...purpose: (string | number)[]): Buffer {
  return createHash('sha256')
    .update([seed, ...purpose].join('\n'))
    .digest();
}

/** The dictionary of configuration parameters (`Hashmap 32 ^Cell`), with the prices and limits of mainnet. */
export function writeConfiguration(input: ConfigurationInput): Cell {
  const params = new Map<number, Cell>([
    [0, cell((b) => b.bytes(CONFIG_ADDRESS))],
    [1, cell((b) => b.bytes(ELECTOR_ADDRESS))],
    [2, cell((b) => b.bytes(Buffer.alloc(32)))],
    [4, cell((b) => b.bytes(DNS_ROOT_ADDRESS))],
    // burning_config#01: no black hole, and nothing of the fees is burnt
    [5, cell((b) => b.u(1, 8).u(0, 1).u(0, 32).u(1, 32))],
    [8, cell((b) => b.u(0xc4, 8).u(GLOBAL_VERSION, 32).big(CAPABILITIES, 64))],
    [11, votingSetup()],
    [12, workchains(input)],
    // complaint_prices#1a: deposit, for a bit, for a cell
    [13, cell((b) => b.u(0x1a, 8).grams(coins(1)).grams(1n).grams(500n))],
    // block_grams_created#6b: nothing is created, so that what exists is what the genesis gave.
    [14, cell((b) => b.u(0x6b, 8).grams(0n).grams(0n))],
    // validators_elected_for, elections_start_before, elections_end_before, stake_held_for
    [15, cell((b) => b.u(65536, 32).u(32768, 32).u(8192, 32).u(32768, 32))],
    // max_validators, max_main_validators, min_validators
    [16, cell((b) => b.u(400, 16).u(100, 16).u(1, 16))],
    // min_stake, max_stake, min_total_stake, max_stake_factor
    [
      17,
      cell((b) =>
        b
          .grams(coins(10_000))
          .grams(coins(10_000_000))
          .grams(coins(10_000))
          .u(3 << 16, 32),
      ),
    ],
    [18, storagePrices()],
    [19, cell((b) => b.i(input.globalId, 32))],
    [20, gasPrices({ flat: 1_000_000, price: 10_000 << 16, special: 70_000_000, block: 2_500_000 })],
    [21, gasPrices({ flat: 6_667, price: 4_369_067, special: 1_000_000, block: 10_000_000 })],
    [22, blockLimits([131_072, 524_288, 1_048_576], [200_000, 1_000_000, 2_500_000])],
    [23, blockLimits([262_144, 1_048_576, 2_097_152], [2_000_000, 10_000_000, 20_000_000])],
    [24, forwardPrices(10_000_000, 655_360_000, 65_536_000_000)],
    [25, forwardPrices(66_667, 4_369_067, 436_906_667)],
    // catchain_config_new#c2: lifetimes of the groups, validators in a shard
    [28, cell((b) => b.u(0xc2, 8).u(1, 8).u(250, 32).u(250, 32).u(1000, 32).u(23, 32))],
    [29, consensus()],
    [31, set(256, input.special)],
    [VALIDATORS, input.validators],
    // size_limits_config#01: bits and cells of a message, library cells, depths, external messages
    [43, cell((b) => b.u(1, 8).u(2_097_152, 32).u(8192, 32).u(1000, 32).u(512, 16).u(65_535, 32).u(512, 16))],
  ]);
  const mandatory = [0, 1, 8, 12, 18, 20, 21, 22, 23, 24, 25, 28, 34].map(paramKey);
  params.set(9, keys(mandatory));
  params.set(10, keys([0, 1, 8, 9, 10, 12, 34].map(paramKey)));
  const changes = [...params].map(([id, value]) => ({
    key: paramKey(id),
    leaf: { extra: null, value: new Builder().ref(value).cell() },
  }));
  return required(updateDictionary(null, KEY_BITS.config, plain, changes).root);
}

/** The configuration with another set of validators in office. `visit` is told of the cells that were read. */
export function withValidators(config: Cell, validators: Cell, visit: Visit): Cell {
  const change = { key: paramKey(VALIDATORS), leaf: { extra: null, value: new Builder().ref(validators).cell() } };
  return required(updateDictionary(config, KEY_BITS.config, plain, [change], visit).root);
}

function coins(tons: number): bigint {
  return BigInt(tons) * 1_000_000_000n;
}

function cell(write: (builder: Builder) => Builder): Cell {
  return write(new Builder()).cell();
}

function required(root: Cell | null): Cell {
  if (root === null) throw new RangeError('an empty dictionary where one entry is needed');
  return root;
}

function paramKey(id: number): Buffer {
  const key = Buffer.alloc(4);
  key.writeInt32BE(id);
  return key;
}

/** `Hashmap 32 True`. */
function keys(list: readonly Buffer[]): Cell {
  const changes = list.map((key) => ({ key, leaf: { extra: null, value: EMPTY } }));
  return required(updateDictionary(null, KEY_BITS.config, plain, changes).root);
}

/** `HashmapE n True`. */
function set(keyBits: number, list: readonly Buffer[]): Cell {
  const changes = list.map((key) => ({ key, leaf: { extra: null, value: EMPTY } }));
  return cell((b) => b.maybeRef(updateDictionary(null, keyBits, plain, changes).root));
}

/** `workchain#a6` for the basechain, whose format is `wfmt_basic#1`. */
function workchains(input: ConfigurationInput): Cell {
  const descr = cell((b) =>
    b
      .u(0xa6, 8)
      .u(input.startUtime, 32)
      // monitor_min_split, min_split, max_split
      .u(0, 8)
      .u(0, 8)
      .u(4, 8)
      // basic, active, accept_msgs, flags
      .u(7, 3)
      .u(0, 13)
      .bytes(input.rootHash)
      .bytes(input.fileHash)
      .u(0, 32)
      .u(1, 4)
      .i(-1, 32)
      .big(0n, 64),
  );
  const changes = [{ key: paramKey(0), leaf: { extra: null, value: descr } }];
  return cell((b) => b.maybeRef(updateDictionary(null, KEY_BITS.workchain, plain, changes).root));
}

/** `cfg_vote_setup#91`: how changes of ordinary and of critical parameters are voted on. */
function votingSetup(): Cell {
  // cfg_vote_cfg#36: rounds (fewest, most), wins, losses; seconds of storage (fewest, most), its price for a bit, a cell
  const setup = (counts: readonly number[], amounts: readonly number[]) =>
    cell((b) => {
      b.u(0x36, 8);
      for (const count of counts) b.u(count, 8);
      for (const amount of amounts) b.u(amount, 32);
      return b;
    });
  const normal = setup([2, 6, 2, 5], [1_000_000, 10_000_000, 1, 500]);
  const critical = setup([4, 7, 3, 5], [5_000_000, 20_000_000, 2, 1000]);
  return cell((b) => b.u(0x91, 8).ref(normal).ref(critical));
}

/** `storage_prices#cc`: from time 0 on; basechain bits and cells, masterchain bits and cells. */
function storagePrices(): Cell {
  const value = cell((b) => b.u(0xcc, 8).u(0, 32).big(1n, 64).big(500n, 64).big(1000n, 64).big(500_000n, 64));
  return required(
    updateDictionary(null, KEY_BITS.config, plain, [{ key: Buffer.alloc(4), leaf: { extra: null, value } }]).root,
  );
}

/** `gas_flat_pfx#d1` with `gas_prices_ext#de`. Prices are nanotons, the second times 2^16. */
function gasPrices(prices: { flat: number; price: number; special: number; block: number }): Cell {
  return cell((b) => {
    b.u(0xd1, 8).big(100n, 64).big(BigInt(prices.flat), 64).u(0xde, 8).big(BigInt(prices.price), 64);
    // gas_limit, special_gas_limit, gas_credit, block_gas_limit, freeze_due_limit, delete_due_limit
    const limits = [1_000_000, prices.special, 10_000, prices.block, 100_000_000, 1_000_000_000];
    for (const limit of limits) b.big(BigInt(limit), 64);
    return b;
  });
}

/** `block_limits#5d`: bytes, gas and lt range, each with its three limits. */
function blockLimits(bytes: readonly number[], gas: readonly number[]): Cell {
  return cell((b) => {
    b.u(0x5d, 8);
    for (const limits of [bytes, gas, [1000, 5000, 10_000]]) {
      b.u(0xc3, 8);
      for (const limit of limits) b.u(limit, 32);
    }
    return b;
  });
}

/** `msg_forward_prices#ea`: the lump sum in nanotons, bits and cells times 2^16, parts of 2^16. */
function forwardPrices(lump: number, bit: number, perCell: number): Cell {
  return cell((b) =>
    b
      .u(0xea, 8)
      .big(BigInt(lump), 64)
      .big(BigInt(bit), 64)
      .big(BigInt(perCell), 64)
      .u(0x18000, 32)
      .u(21_845, 16)
      .u(21_845, 16),
  );
}

/** `consensus_config_v4#d9`. */
function consensus(): Cell {
  return cell((b) => {
    b.u(0xd9, 8).u(1, 8).u(3, 8);
    // next_candidate_delay_ms, consensus_timeout_ms, fast_attempts, attempt_duration, max_deps, sizes
    for (const value of [2000, 16_000, 3, 8, 4, 2_097_152, 2_097_152]) b.u(value, 32);
    return b.u(5, 16).u(10_000, 32);
  });
}
