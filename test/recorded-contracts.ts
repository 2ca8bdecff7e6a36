import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { rawAddress } from '../src/chain/address.ts';
import { type Cell, parseBoc, Slice } from '../src/chain/builder.ts';
import { findLeaf } from '../src/chain/dictionary.ts';
import { readAccount } from '../src/tvm/account.ts';
import { textCell } from '../src/tvm/executor.ts';
import { namedLibraries } from '../src/tvm/libraries.ts';
import { readReplaySet, replaySets } from './replay-set.ts';
import { requireShelf } from './shelf.ts';
import { traceFixtures } from './trace-fixtures.ts';

/** A contract of a public network as it was recorded. */
export interface RecordedContract {
  /** `workchain:HEX`. */
  address: string;
  code: Cell;
  data: Cell;
}

const deployments = z.object({
  transactions: z.array(
    z.object({
      in_msg: z.object({ destination: z.string().nullable(), init_state: z.string().nullish() }).nullable(),
    }),
  ),
});
const unnamed = z.object({ codes: z.array(z.record(z.string(), z.unknown())) });

/** Accounts before the recorded transactions. */
export function replayedContracts(): RecordedContract[] {
  const found: RecordedContract[] = [];
  // The cases of the executor have contracts that are none: they do whatever their test wants.
  for (const { file } of replaySets.filter((set) => set.file.startsWith('mainnet_0_'))) {
    for (const entry of readReplaySet(file).accounts) {
      const account = readAccount(new Slice(textCell(entry.shard_account_boc)).ref());
      if (account?.status.type !== 'active') continue;
      const { code, data } = account.status;
      if (code !== null && data !== null) found.push({ address: rawAddress(account.address), code, data });
    }
  }
  return found;
}

/** Contracts as the recorded traces deploy them, each once. */
export function deployedContracts(): RecordedContract[] {
  const found = new Map<string, RecordedContract>();
  for (const { json } of traceFixtures()) {
    for (const { in_msg } of deployments.parse(json).transactions) {
      if (!in_msg?.init_state || in_msg.destination === null) continue;
      const init = new Slice(textCell(in_msg.init_state));
      if (init.bit()) init.skip(5);
      if (init.bit()) init.skip(2);
      const [code, data] = [init.maybeRef(), init.maybeRef()];
      if (code === null || data === null) continue;
      found.set(in_msg.destination, { address: in_msg.destination, code, data });
    }
  }
  return [...found.values()];
}

/** Codes by hash in hex: all on the shelf, and what library cells stand for. */
export function recordedCodes(): Map<string, Cell> {
  const folder = join(requireShelf(), 'data/contracts');
  const codes = new Map<string, Cell>();
  const add = (code: Cell): void => {
    codes.set(code.hash().toString('hex'), code);
  };
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.code.boc'))) {
    add(parseBoc(readFileSync(join(folder, name))));
  }
  const packed = gunzipSync(readFileSync(join(folder, 'unnamed_live_codes.json.gz'))).toString();
  for (const entry of unnamed.parse(JSON.parse(packed)).codes) {
    const boc = Object.values(entry).find((value) => typeof value === 'string' && value.startsWith('te6'));
    if (typeof boc === 'string') add(textCell(boc));
  }
  for (const { code } of [...replayedContracts(), ...deployedContracts()]) add(code);
  return codes;
}

/** Finds public libraries of mainnet, as of the recorded blocks, and codes on the shelf. */
export function libraryFinder(codes: ReadonlyMap<string, Cell>): (code: Cell) => Cell[] {
  const dictionaries = replaySets
    .filter((set) => set.file.startsWith('mainnet_0_'))
    .map(({ file }) => readReplaySet(file).libraries);
  return (code) =>
    namedLibraries([code], 10).flatMap((hash) => {
      const own = codes.get(hash.toString('hex'));
      if (own !== undefined) return [own];
      const leaf = dictionaries.map((root) => findLeaf(root, 256, hash)).find((one) => one !== null);
      return leaf === undefined || leaf === null ? [] : [leaf.ref()];
    });
}
