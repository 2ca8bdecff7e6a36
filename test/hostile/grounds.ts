/** A devnet with contracts that do what they can to cost much, and everything on it that one can ask about. */
import { Address } from '@ton/core';
import { decodeBlock } from '../../src/chain/block.ts';
import { openBoc } from '../../src/chain/boc.ts';
import { Builder, type Cell, toBoc } from '../../src/chain/builder.ts';
import { codes } from '../../src/tvm/test-contracts.ts';
import { COIN, type ServedDevnet, serveDevnet } from '../devnet-served.ts';
import { createTestWallet } from '../devnet-wallets.ts';
import type { Grounds } from './questions.ts';

/** Its result cannot be written out: each call of it takes its whole time and a thread. */
const DOUBLED = new Address(0, Buffer.alloc(32, 0xdd));

const HOSTILE = {
  echo: codes.echo,
  kinds: codes.kinds,
  endless: codes.endless,
  longList: codes.list(900),
  longerList: codes.list(2000),
  config: codes.configRoot,
  registers: codes.registers,
};

export async function serveHostileDevnet(): Promise<ServedDevnet & { grounds: Grounds }> {
  const wallets = Array.from({ length: 12 }, (_, i) => createTestWallet(i, i < 2 ? -1 : 0));
  const contract = (hash: Buffer, code: Cell) => {
    return { workchain: 0, hash, balance: COIN, code, data: new Builder().u(7, 8).cell() };
  };
  const contracts = Object.values(HOSTILE).map((code, at) => contract(Buffer.alloc(32, 0xa0 + at), code));
  const own = wallets.map((wallet) => wallet.genesis(10_000_000n * COIN));
  const genesis = [...own, ...contracts, contract(DOUBLED.hash, codes.doubled(200))];
  const devnet = await serveDevnet({}, { genesis });
  const addresses = contracts.map(({ hash }) => new Address(0, hash));
  return { ...devnet, grounds: groundsOf(devnet, addresses) };
}

function groundsOf({ steps, wallets }: ServedDevnet, contracts: readonly Address[]): Grounds {
  const own = [...wallets.map(({ address }) => address), ...contracts];
  const places = steps.flatMap(({ mc, shards }) => [mc, ...shards]);
  const headers = places.map(({ bytes }) => decodeBlock(openBoc(bytes)).header);
  const [wallet] = wallets.slice(3);
  const sent = wallet.pay({ to: wallets[4].address, value: 1n, bounce: false });
  wallet.takeBack();
  const bags = [sent, toBoc(codes.echo), toBoc(codes.endless), toBoc(new Builder().u(0, 32).cell())];
  const hashes = places.flatMap(({ rootHash }) => [rootHash.toString('hex'), rootHash.toString('base64')]);
  return {
    addresses: [
      ...own.flatMap((address) => [address.toRawString(), address.toString()]),
      DOUBLED.toRawString(),
      `0:${'7'.repeat(64)}`,
      `-1:${'3'.repeat(64)}`,
      `7:${'1'.repeat(64)}`,
    ],
    hashes: [...hashes, 'f'.repeat(64), Buffer.alloc(32, 1).toString('base64url')],
    lts: [...headers.flatMap(({ startLt, endLt }) => [startLt, endLt]), '0', '1', '-1', `${2n ** 63n - 1n}`],
    head: steps.length,
    bags,
  };
}
