import { Builder, type Cell, toBoc } from '../chain/builder.ts';
import { type Dictionary, updateDictionary } from '../chain/dictionary.ts';
import { sha256Of } from '../chain/hash.ts';
import type { Hash } from '../chain/model.ts';
import { type DepthBalance, depthBalance, EMPTY, KEY_BITS, writeCoins } from './augmentations.ts';
import { CONFIG_ADDRESS, ELECTOR_ADDRESS, writeConfiguration } from './configuration.ts';
import { writeMcExtra } from './masterchain.ts';
import type { GenesisAccount } from './model.ts';
import { emptyState, type ShardState, writeState } from './state.ts';
import { createValidators } from './validators.ts';

/** Names the network in every block and, as configuration parameter 19, to contracts. */
export const GLOBAL_ID = -217;

/** 2025-01-01 00:00:00 UTC. */
export const DEFAULT_START_UTIME = 1_735_689_600;

export interface ZeroBlock {
  state: ShardState;
  root: Cell;
  bytes: Buffer;
  rootHash: Hash;
  fileHash: Hash;
}

export interface Genesis {
  mc: ZeroBlock;
  shard: ZeroBlock;
  /** Root of the configuration dictionary. */
  config: Cell;
  special: readonly GenesisAccount[];
}

const SYSTEM_BALANCE = 1_000_000_000_000n;

/**
 * The accounts of the configuration and the elector: their code only returns, so that ticks and tocks run but
 * nothing changes. The first reference of the configuration's data is the dictionary, as on other networks.
 */
function systemAccounts(config: Cell): GenesisAccount[] {
  const data = new Builder().ref(config).cell();
  // SETCP 0
  const code = new Builder().u(0xff00, 16).cell();
  const common = { workchain: -1, balance: SYSTEM_BALANCE, code };
  return [
    { ...common, hash: CONFIG_ADDRESS, data, special: { tick: false, tock: true } },
    { ...common, hash: ELECTOR_ADDRESS, data: EMPTY, special: { tick: true, tock: true } },
  ];
}

/** Makes the zero states of both chains. Throws RangeError for an account given twice or in another workchain. */
export function createGenesis(
  seed: string,
  accounts: readonly GenesisAccount[],
  startUtime: number,
  validators = createValidators(seed),
): Genesis {
  const wrong = accounts.find(({ workchain }) => workchain !== 0 && workchain !== -1);
  if (wrong !== undefined) throw new RangeError(`no workchain ${wrong.workchain} in the devnet`);
  const base = emptyState(GLOBAL_ID, 0, startUtime);
  const inBase = accounts.filter(({ workchain }) => workchain === 0);
  const shard = zeroBlock({ ...base, accounts: accountsOf(inBase, startUtime) });
  const own = accounts.filter(({ workchain }) => workchain === -1);
  const ownSpecial = own.filter(({ special }) => special !== undefined);
  const config = writeConfiguration({
    globalId: GLOBAL_ID,
    startUtime,
    rootHash: shard.rootHash,
    fileHash: shard.fileHash,
    validators: validators.writeSet(0, startUtime),
    special: [CONFIG_ADDRESS, ELECTOR_ADDRESS, ...ownSpecial.map(({ hash }) => hash)],
  });
  const system = systemAccounts(config);
  const inMaster = accountsOf([...own, ...system], startUtime);
  const balance = inMaster.extra.balance + shard.state.accounts.extra.balance;
  const custom = writeMcExtra({
    shardHashes: null,
    config,
    validatorHash: validators.group(0).hash,
    catchainSeqno: 0,
    catchainUpdated: false,
    mcBlocks: { root: null, extra: { key: false, endLt: 0n } },
    afterKeyBlock: true,
    lastKeyBlock: null,
    globalBalance: balance,
  });
  const master = zeroBlock({ ...emptyState(GLOBAL_ID, -1, startUtime), accounts: inMaster, custom });
  return { mc: master, shard, config, special: [...system, ...ownSpecial] };
}

function zeroBlock(state: ShardState): ZeroBlock {
  const root = writeState(state);
  const bytes = toBoc(root);
  return { state, root, bytes, rootHash: root.hash(), fileHash: sha256Of(bytes) };
}

function accountsOf(accounts: readonly GenesisAccount[], startUtime: number): Dictionary<DepthBalance> {
  const changes = accounts.map((account) => ({
    key: account.hash,
    leaf: { extra: { depth: 0, balance: account.balance }, value: writeShardAccount(account, startUtime) },
  }));
  return updateDictionary(null, KEY_BITS.account, depthBalance, changes);
}

/** `account_descr$_ account:^Account last_trans_hash:bits256 last_trans_lt:uint64`. */
function writeShardAccount(account: GenesisAccount, startUtime: number): Cell {
  return new Builder().ref(writeAccount(account, startUtime)).bytes(Buffer.alloc(32)).big(0n, 64).cell();
}

/** `account$1` with its storage; used cells and bits count equal cells once. */
function writeAccount({ workchain, hash, balance, code, data, special }: GenesisAccount, startUtime: number): Cell {
  const storage = new Builder().big(0n, 64);
  writeCoins(storage, balance).bit(1).bit(0);
  storage.bit(special !== undefined);
  if (special !== undefined) storage.bit(special.tick).bit(special.tock);
  const contents = storage.maybeRef(code).maybeRef(data).bit(0).cell();
  const used = countCells(contents);
  const builder = new Builder().bit(1).u(4, 3).i(workchain, 8).bytes(hash);
  builder.varUint(BigInt(used.cells), 3).varUint(BigInt(used.bits), 3).u(0, 3).u(startUtime, 32).bit(0);
  return builder.append(contents).cell();
}

function countCells(root: Cell): { cells: number; bits: number } {
  const seen = new Set<string>();
  let bits = 0;
  const visit = (cell: Cell): void => {
    if (seen.has(cell.key())) return;
    seen.add(cell.key());
    bits += cell.bits;
    for (const ref of cell.refs) visit(ref);
  };
  visit(root);
  return { cells: seen.size, bits };
}
