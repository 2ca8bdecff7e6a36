/**
 * Published clients of the v2 API, each through the life of a wallet of its own: it is deployed by its first transfer, is
 * paid in jettons, and reads its history to the first transaction. What they print is held to what v3 tells.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Address,
  beginCell,
  Cell,
  contractAddress,
  external,
  internal,
  type MessageRelaxed,
  SendMode,
  storeMessage,
  toNano,
} from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV3R2, WalletContractV4 } from '@ton/ton';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  askForeign,
  type ForeignProgram,
  pytoncenter,
  toncenter,
  tonsdk,
  tonutils,
  tonweb,
} from '../foreign/programs.ts';
import { type Stack, until } from '../stack.ts';

type Version = 'v3r2' | 'v4r2';

/** The wallet of each, and the one that pays it. */
const CLIENTS = {
  tonutils: 'v4r2',
  toncenter: 'v4r2',
  pytoncenter: 'v4r2',
  tonsdk: 'v3r2',
  tonweb: 'v3r2',
} as const;

interface Order {
  seqno: number;
  secretKey: Buffer;
  sendMode: SendMode;
  messages: MessageRelaxed[];
}

/** The contract by its version. */
function openWallet(version: Version, publicKey: Buffer) {
  const options = { workchain: 0, publicKey };
  if (version === 'v3r2') {
    const wallet = WalletContractV3R2.create(options);
    return { address: wallet.address, init: wallet.init, transfer: (order: Order) => wallet.createTransfer(order) };
  }
  const wallet = WalletContractV4.create(options);
  return { address: wallet.address, init: wallet.init, transfer: (order: Order) => wallet.createTransfer(order) };
}

export const AMOUNT = 5_000_000_000n;
const GIFT = '5';
const TO = new Address(0, Buffer.alloc(32, 0x5c));
const NOBODY = new Address(0, Buffer.alloc(32, 0x66));

/** What is put on a stack: the largest and smallest integer, a cell, and a slice. */
const NUMBERS = [2n ** 256n - 1n, -(2n ** 256n)].map(String);
const CELL = beginCell().storeUint(0xce11, 16).storeRef(beginCell().storeUint(1, 3).endCell()).endCell();
const SLICE = beginCell().storeUint(0x511ce, 21).storeRef(CELL).endCell();
const hex = (cell: Cell): string => cell.hash().toString('hex');
const ECHOED = [...NUMBERS, hex(CELL), hex(SLICE)];

/** Drops the id of whatever method is asked for, and leaves the arguments. */
const ECHO_INIT = { code: beginCell().storeUint(0x30, 8).endCell(), data: new Cell() };
export const ECHO = contractAddress(0, ECHO_INIT);

/** A wallet that is not there yet, by the name of who will own it. */
export function newWallet(name: string, version: Version) {
  const seed = createHash('sha256').update(`client ${name}`).digest();
  return { seed, ...walletOf(seed, version) };
}

function walletOf(seed: Buffer, version: Version) {
  const { publicKey, secretKey } = keyPairFromSeed(seed);
  return { secretKey, wallet: openWallet(version, publicKey) };
}

/** The wallet with coins and jettons of which the service prints the seed. */
export function demoWallet(output: string, version: Version) {
  const [, seed] = new RegExp(`${version} +\\S+ +([0-9a-f]{64})`).exec(output) ?? [];
  if (seed === undefined) throw new Error(`no ${version} wallet was printed`);
  return { seed: Buffer.from(seed, 'hex'), ...walletOf(Buffer.from(seed, 'hex'), version) };
}

type Signer = ReturnType<typeof newWallet>;

/** A signed external message; the first one of a wallet deploys it. */
function signed({ wallet, secretKey }: Signer, seqno: number, message: MessageRelaxed): string {
  const order = { seqno, secretKey, sendMode: SendMode.PAY_GAS_SEPARATELY, messages: [message] };
  const body = wallet.transfer(order);
  const whole = external({ to: wallet.address, body, ...(seqno === 0 ? { init: wallet.init } : {}) });
  return beginCell().store(storeMessage(whole)).endCell().toBoc().toString('base64');
}

const master = z.object({
  address: z.string(),
  admin_address: z.string(),
  jetton_content: z.looseObject({ symbol: z.string().optional() }),
});
const listed = z.looseObject({
  jetton_masters: z.array(master).optional(),
  jetton_wallets: z.array(z.object({ address: z.string(), balance: z.string() })).optional(),
  transactions: z.array(z.object({ hash: z.string() })).optional(),
});

async function v3({ url }: Stack, query: string) {
  const response = await fetch(`${url}/api/v3/${query}`);
  const answer = listed.parse(await response.json());
  expect(response.status, query).toBe(200);
  return answer;
}

export const lower = (address: Address | string): string => Address.parse(String(address)).toRawString();

/** The jetton of which the demo wallets have some since before the first block. */
export async function dustOf(stack: Stack) {
  const { jetton_masters: masters = [] } = await v3(stack, 'jetton/masters');
  const dust = masters.find(({ jetton_content: { symbol } }) => symbol === 'DUST');
  if (dust === undefined) throw new Error('the jetton is not listed');
  return dust;
}

/** As the master says, whether it is there or not. */
async function jettonWalletOf(stack: Stack, master: string, owner: Address): Promise<Address> {
  const argument = beginCell().storeAddress(owner).endCell().toBoc().toString('base64');
  const asked = { address: lower(master), method: 'get_wallet_address', stack: [['tvm.Slice', argument]] };
  return Cell.fromBase64((await post(stack, 'runGetMethod', asked)).stack[0][1].bytes)
    .beginParse()
    .loadAddress();
}

export async function give({ url }: Stack, address: Address): Promise<void> {
  const body = JSON.stringify({ address: address.toString({ bounceable: false }), amount: GIFT });
  expect((await fetch(`${url}/devnet/faucet`, { method: 'POST', body })).status).toBe(200);
}

async function post({ url }: Stack, method: string, body: object) {
  const response = await fetch(`${url}/api/v2/${method}`, { method: 'POST', body: JSON.stringify(body) });
  return z.looseObject({ result: z.any().optional() }).parse(await response.json()).result;
}

/** Nothing of one while the service has no step to show. */
const stateOf = async (stack: Stack, address: Address) =>
  (await post(stack, 'getAddressInformation', { address: lower(address) })) ?? {};

const arrived = (stack: Stack, address: Address): Promise<true> =>
  until('the gift arrives', async () => ((await stateOf(stack, address)).balance > 0 ? true : null));

/** Funds a wallet, deploys it with the contract that answers what it is asked with, and waits for both. */
async function deployEcho(stack: Stack): Promise<void> {
  const owner = newWallet('echo', 'v4r2');
  await give(stack, owner.wallet.address);
  await arrived(stack, owner.wallet.address);
  const message = internal({ to: ECHO, value: toNano('1'), bounce: false, init: ECHO_INIT });
  expect(await post(stack, 'sendBoc', { boc: signed(owner, 0, message) })).toEqual({ '@type': 'ok' });
  await until('the contract is there', async () => ((await stateOf(stack, ECHO)).state === 'active' ? true : null));
}

/** A bounceable payment of jettons out of the jetton wallet `from`, to the owner `to`. */
export function jettonPayment(from: Address, to: Address, response: Address): MessageRelaxed {
  const body = beginCell()
    .storeUint(0x0f8a7ea5, 32)
    .storeUint(1, 64)
    .storeCoins(AMOUNT)
    .storeAddress(to)
    .storeAddress(response)
    .storeBit(false)
    .storeCoins(1)
    .storeBit(false)
    .endCell();
  return internal({ to: from, value: toNano('0.1'), bounce: true, body });
}

interface Told {
  program: ForeignProgram;
  told: Record<string, unknown>;
  owner: Address;
  jetton: { master: string; admin: string; wallet: string };
}

/** Expectations that hold whatever the client: its parts are compared where it tells them. */
async function live(
  stack: Stack,
  folder: string,
  name: string,
  program: ForeignProgram,
  version: Version,
): Promise<Told> {
  const own = newWallet(name, version);
  const giver = demoWallet(stack.program.output(), version);
  const owner = own.wallet.address;
  const master = await dustOf(stack);
  const source = await jettonWalletOf(stack, master.address, giver.wallet.address);
  const target = await jettonWalletOf(stack, master.address, owner);
  const asked = { address: lower(giver.wallet.address), method: 'seqno', stack: [] };
  const seqno = Number((await post(stack, 'runGetMethod', asked)).stack[0][1]);
  const question = {
    url: stack.url,
    seed: own.seed.toString('hex'),
    giverSeed: giver.seed.toString('hex'),
    address: lower(owner),
    to: lower(TO),
    nobody: lower(NOBODY),
    master: lower(master.address),
    jettonWallet: lower(target),
    amount: String(AMOUNT),
    echo: lower(ECHO),
    numbers: NUMBERS,
    cell: CELL.toBoc().toString('base64'),
    slice: SLICE.toBoc().toString('base64'),
    // For clients that sign nothing themselves.
    messages: [0, 1].map((at) =>
      signed(own, at, internal({ to: TO, value: toNano('0.5'), bounce: false, body: `number ${at} by ${name}` })),
    ),
    payment: signed(giver, seqno, jettonPayment(source, owner, giver.wallet.address)),
  };
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(question));
  const told = z.record(z.string(), z.unknown()).parse(await askForeign(program, folder, file));
  const { transactions = [] } = await v3(stack, `transactions?account=${lower(owner)}&sort=desc`);
  expect({ jettons: told.jettons, before: told.before }).toEqual({
    jettons: String(AMOUNT),
    before: expect.arrayContaining([String(toNano(GIFT))]),
  });
  if (told.history !== undefined) {
    expect(told.history).toEqual(transactions.map(({ hash }) => Buffer.from(hash, 'base64').toString('hex')));
    expect(transactions.length).toBeGreaterThanOrEqual(3);
  }
  const { jetton_wallets: [held] = [] } = await v3(stack, `jetton/wallets?owner_address=${lower(owner)}`);
  expect([lower(held.address), held.balance]).toEqual([lower(target), String(AMOUNT)]);
  return {
    program,
    told,
    owner,
    jetton: { master: lower(master.address), admin: lower(master.admin_address), wallet: lower(target) },
  };
}

/**
 * Beside each other as far as they are paid from different wallets.
 *
 * @param stack of a devnet that runs
 */
export function describeClients(stack: () => Stack): void {
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'clients-'));
    const owners = Object.entries(CLIENTS).map(([name, version]) => newWallet(name, version).wallet.address);
    for (const owner of owners) await give(stack(), owner);
    await deployEcho(stack());
    for (const owner of owners) await arrived(stack(), owner);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** Null where the client cannot be had, which was said and in CI is a failure. */
  async function through(name: keyof typeof CLIENTS, prepare: () => Promise<ForeignProgram | null>) {
    const program = await prepare();
    if (program === null) {
      expect(process.env.CI ?? '').toBe('');
      return null;
    }
    return live(stack(), folder, name, program, CLIENTS[name]);
  }

  describe.concurrent('paid from the v4r2 wallet', () => {
    it.sequential('tonutils', async () => {
      const lived = await through('tonutils', tonutils);
      if (lived === null) return;
      const { told, owner, jetton } = lived;
      expect(told).toMatchObject({
        wallet: lower(owner),
        stack: [...ECHOED, ['5', hex(CELL), hex(SLICE)]],
        master: { supplied: true, mintable: true, admin: jetton.admin },
        jettonWallet: { address: jetton.wallet, owner: lower(owner), master: jetton.master },
        nobody: 'nonexist',
      });
      expect(told.config).toEqual(expect.arrayContaining([8, 34]));
    });

    it.sequential('toncenter', async () => {
      const lived = await through('toncenter', toncenter);
      if (lived === null) return;
      const history = z.array(z.string()).parse(lived.told.history);
      const heard = history.slice(0, -1).sort();
      const typed = (type: string, inner: object) =>
        expect.objectContaining({ '@type': `tvm.stackEntry${type}`, ...inner });
      expect(lived.told).toMatchObject({
        before: [String(toNano(GIFT)), 'uninitialized'],
        sent: ['ok', expect.stringMatching(/^[0-9a-f]{64}$/), expect.stringMatching(/^[0-9a-f]{64}$/)],
        newest: history[0],
        // Of the gift, which came first, nobody heard.
        heard: [heard, heard],
        index: {
          history,
          seqno: [2, 2],
          type: 'wallet v4 r2',
          jettons: [String(AMOUNT)],
          transfers: [String(AMOUNT)],
          actions: expect.arrayContaining(['jetton_transfer', 'ton_transfer']),
          refused: [
            'ToncenterUnprocessableError',
            'ToncenterNotFoundError',
            'ToncenterConflictError',
            'ToncenterNotFoundError',
          ],
        },
        fee: true,
        config: [true, true],
        account: { state: 'active', kind: 'wallet.v4.accountState', wallet: true, walletType: 'wallet v4 r2' },
        nobody: {
          state: 'uninitialized',
          balance: '0',
          kind: 'uninited.accountState',
          wallet: false,
          walletType: null,
        },
        blocks: { last: expect.any(Number), counted: expect.any(Boolean) },
        rpc: 'active',
        master: { symbol: 'DUST', mintable: true, supply: true },
        refused: ['ToncenterUnprocessableError', 'ToncenterConflictError'],
      });
      const [most, least, cell, slice, tuple, list] = lived.told.stack as [
        string,
        string & { bytes: string; elements: unknown[] },
      ][];
      expect([BigInt(most[1]), BigInt(`0x${least[1].slice(3)}`) * -1n].map(String)).toEqual(NUMBERS);
      expect([cell, slice].map(([, { bytes }]) => hex(Cell.fromBase64(bytes)))).toEqual([hex(CELL), hex(SLICE)]);
      expect([tuple[0], tuple[1].elements.length, list[0], list[1].elements.length]).toEqual(['tuple', 1, 'list', 2]);
      expect(lived.told.std).toEqual([
        typed('Number', { number: { '@type': 'tvm.numberDecimal', number: NUMBERS[1] } }),
        typed('Cell', { cell: expect.anything() }),
        typed('Slice', { slice: expect.anything() }),
        typed('Tuple', { tuple: expect.anything() }),
        typed('List', { list: expect.anything() }),
      ]);
    });

    it.sequential('pytoncenter', async () => {
      const lived = await through('pytoncenter', pytoncenter);
      if (lived === null) return;
      expect(lived.told).toMatchObject({
        before: [String(toNano(GIFT)), 'uninitialized'],
        stack: ECHOED,
        children: 1,
        master: { mintable: true, supplied: true },
        fee: true,
        wallet: 'wallet v4 r2',
        kind: 'wallet.v4.accountState',
        version: true,
        address: lower(lived.owner),
        nobody: 'uninitialized',
      });
    });
  });

  describe.concurrent('paid from the v3r2 wallet', () => {
    it.sequential('tonsdk', async () => {
      const lived = await through('tonsdk', tonsdk);
      if (lived === null) return;
      const { told, owner, jetton } = lived;
      expect(told).toMatchObject({
        wallet: lower(owner),
        before: [String(toNano(GIFT)), 'uninitialized'],
        stack: ECHOED,
        jettonWallet: { address: jetton.wallet, owner: lower(owner), master: jetton.master },
        nobody: 'uninitialized',
        refused: 422,
      });
    });

    it.sequential('tonweb', async () => {
      const lived = await through('tonweb', tonweb);
      if (lived === null) return;
      const { told, owner, jetton } = lived;
      expect(told).toMatchObject({
        wallet: lower(owner),
        before: [String(toNano(GIFT)), 'uninitialized'],
        comments: ['from tonweb'],
        stack: [...ECHOED, ['5']],
        list: ['6', '7'],
        // What it cannot read itself.
        sliceInTuple: 'unknown type tvm.stackEntrySlice',
        master: { supplied: true, mintable: true, admin: jetton.admin },
        jettonWallet: { address: jetton.wallet, owner: lower(owner), master: jetton.master },
        fee: true,
        nobody: ['0', 'uninitialized'],
        shards: expect.any(Number),
        header: true,
        config: true,
        unset: 'getConfigParam expected bytes',
        refused: 'failed to parse post request: failed to parse address',
      });
    });
  });
}
