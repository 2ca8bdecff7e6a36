/** What `/api/emulate/v1` tells beside what came true on the chain of a running service. */
import { Address, beginCell, Cell, external, internal, type Message, storeMessage, toNano } from '@ton/core';
import { keyPairFromSeed } from '@ton/crypto';
import { WalletContractV4 } from '@ton/ton';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { emulated } from '../../src/api/emulate/answer.ts';
import * as schemas from '../../src/api/v3/schemas.ts';
import { parseAddress } from '../../src/chain/address.ts';
import { parseBoc, toBoc } from '../../src/chain/builder.ts';
import { writeExternalMessage } from '../../src/chain/external-message.ts';
import { onChainContent } from '../../src/devnet/contracts/content.ts';
import {
  jettonMasterAddress,
  jettonMasterCode,
  jettonMasterData,
  jettonMint,
  jettonWalletAddress,
} from '../../src/devnet/contracts/jettons.ts';
import { rounds } from '../chance.ts';
import { type Stack, until } from '../stack.ts';

type Emulated = z.output<typeof emulated>;
type Transaction = z.output<typeof schemas.transaction>;
type Node = z.output<typeof schemas.traceNode>;
type Trace = z.output<typeof READ>['traces'][number];

async function post(
  stack: Stack,
  path: string,
  body: object,
  headers = {},
): Promise<{ status: number; json: unknown }> {
  const response = await fetch(`${stack.url}/api/emulate/v1/${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, json: await response.json() };
}

async function emulate(stack: Stack, path: string, body: object, headers = {}): Promise<Emulated> {
  const { status, json } = await post(stack, path, body, headers);
  if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
  return emulated.parse(json);
}

/** What must be the same of a transaction that was emulated and of the one that came. */
function factsOf({ account, in_msg: message, description: { compute_ph: compute, action, aborted } }: Transaction) {
  const facts = [account, message?.opcode, compute?.exit_code, compute?.reason, action?.result_code, aborted];
  return { facts: facts.join(' '), value: Number(message?.value ?? 0) };
}

/** A block may be made a second later than it was made up, and storage be paid for it: that passes for the same. */
const STORAGE_NANOTONS = 50;

type Facts = ReturnType<typeof factsOf>;

/** The facts of a tree of transactions, parents before children. */
function linesOf(node: Node, transactions: Readonly<Record<string, Transaction>>): Facts[] {
  const below = node.children.map((child) => linesOf(child, transactions));
  return [factsOf(transactions[node.tx_hash]), ...below.flat()];
}

function areAlike(a: readonly Facts[], b: readonly Facts[]): boolean {
  const alike = (one: Facts, other: Facts | undefined): boolean =>
    one.facts === other?.facts && Math.abs(one.value - other.value) <= STORAGE_NANOTONS;
  return a.length === b.length && a.every((one, i) => alike(one, b[i]));
}

const READ = z.object({ traces: schemas.traces.shape.traces });
const TRACES = rounds(15, 30);
/** System transactions have traces, too, and a busy machine makes more of them than of others. */
const READ_TRACES = 300;

/**
 * Whether an account of the trace did something else in its steps: which comes first is decided by the block then, and
 * the emulated trace finds another balance.
 */
function raced(trace: Trace, others: readonly Trace[]): boolean {
  const accounts = new Set(Object.values(trace.transactions ?? {}).map(({ account }) => account));
  const [first, last] = [Number(trace.mc_seqno_start), Number(trace.mc_seqno_end)];
  return others.some(
    (other) =>
      other.trace_id !== trace.trace_id &&
      Object.values(other.transactions ?? {}).some(
        ({ account, mc_block_seqno: step }) => accounts.has(account) && Number(step) >= first && Number(step) <= last,
      ),
  );
}

/**
 * Complete traces that began with a message from outside and raced none, the newest first, with the message to their
 * root.
 */
async function pastTraces(stack: Stack) {
  return until('traces of the traffic', async () => {
    const response = await fetch(`${stack.url}/api/v3/traces?limit=${READ_TRACES}`);
    const { traces } = READ.parse(await response.json());
    const found = traces.flatMap((trace) => {
      const root = trace.transactions?.[trace.trace?.tx_hash ?? ''];
      const message = root?.in_msg;
      if (!message || message.source !== null || message.init_state !== null || raced(trace, traces)) return [];
      const address = parseAddress(message.destination ?? '');
      const body = message.message_content?.body;
      if (address === null || !body || Number(trace.mc_seqno_start) < 4) return [];
      return [
        {
          trace,
          boc: toBoc(writeExternalMessage({ address, body: parseBoc(Buffer.from(body, 'base64')), init: null })),
        },
      ];
    });
    return found.length >= 10 ? found.slice(0, TRACES) : null;
  });
}

function demoKeys(output: string) {
  const [, , secret] = /v4r2 +(\S+) +([0-9a-f]{64})/.exec(output) ?? [];
  const keys = keyPairFromSeed(Buffer.from(secret, 'hex'));
  return { wallet: WalletContractV4.create({ workchain: 0, publicKey: keys.publicKey }), keys };
}

/** A message from one account to another, as a block carries it. */
function passing(src: Address, dest: Address, coins: bigint): Message {
  const none = { ihrDisabled: true, bounce: false, bounced: false, ihrFee: 0n, forwardFee: 0n, createdAt: 0 };
  const info = { type: 'internal' as const, ...none, src, dest, value: { coins }, createdLt: 1_000_000n };
  return { info, body: beginCell().endCell() };
}

export function describeEmulation(stack: () => Stack): void {
  it('tells of past messages what came true of them', async () => {
    const past = await pastTraces(stack());
    const differing: string[] = [];
    for (const { trace, boc } of past) {
      const told = await emulate(stack(), 'emulateTrace', {
        boc: boc.toString('base64'),
        mc_block_seqno: Number(trace.mc_seqno_start) - 1,
      });
      const root = trace.trace;
      if (!root) throw new Error('a trace without its tree');
      const [came, said] = [linesOf(root, trace.transactions ?? {}), linesOf(told.trace, told.transactions)];
      if (!areAlike(came, said))
        differing.push(`${JSON.stringify(came, null, 1)} not ${JSON.stringify(said, null, 1)}`);
      expect(Object.values(told.transactions).every((one) => one.emulated && one.finality === 'pending')).toBe(true);
    }
    process.stdout.write(
      `emulated ${past.length} past traces, ${differing.length} otherwise\n${differing.join('\n')}\n`,
    );
    // Messages of traces that were not among those read may have been in the same blocks.
    expect(differing.length).toBeLessThanOrEqual(Math.ceil(past.length * 0.1));
  });

  it('emulates a transfer, its signature checked or not, and internal messages', async () => {
    const { wallet, keys } = demoKeys(stack().program.output());
    const to = new Address(0, Buffer.alloc(32, 0x5c));
    const shown = z
      .object({ wallets: z.array(z.object({ seqno: z.number() })) })
      .parse(await (await fetch(`${stack().url}/api/v3/walletStates?address=${wallet.address.toRawString()}`)).json())
      .wallets.at(0)?.seqno;
    // One that no block has touched is not in the index.
    const seqno = shown ?? 0;
    const messages = [internal({ to, value: toNano('0.25'), bounce: false })];
    const order = (secretKey: Buffer) =>
      beginCell()
        .store(
          storeMessage(external({ to: wallet.address, body: wallet.createTransfer({ seqno, secretKey, messages }) })),
        )
        .endCell()
        .toBoc()
        .toString('base64');
    const told = await emulate(stack(), 'emulateTrace', {
      boc: order(keys.secretKey),
      with_actions: true,
      include_code_data: true,
      include_address_book: true,
      include_metadata: true,
    });
    expect(told.actions).toMatchObject([{ type: 'ton_transfer', success: true, trace_id: null, finality: 'pending' }]);
    expect(told.is_incomplete).toBe(false);
    expect(Object.keys(told.address_book ?? {})).toContain(to.toRawString().toUpperCase());
    for (const [hash, boc] of Object.entries(told.code_cells))
      expect(Cell.fromBase64(boc).hash().toString('base64')).toBe(hash);
    const stranger = keyPairFromSeed(Buffer.alloc(32, 1)).secretKey;
    const refused = await post(stack(), 'emulateTrace', { boc: order(stranger) });
    expect(refused).toMatchObject({
      status: 500,
      json: { error: expect.stringMatching(/EmulationExternalNotAccepted: 35/) },
    });
    const unchecked = await emulate(stack(), 'emulateTrace', { boc: order(stranger), ignore_chksig: true });
    expect(Object.keys(unchecked.transactions)).toHaveLength(2);
    const inside = beginCell()
      .store(storeMessage(passing(wallet.address, to, toNano('1'))))
      .endCell();
    const passed = await emulate(stack(), 'emulateTrace', { boc: inside.toBoc().toString('base64') });
    expect(Object.values(passed.transactions)).toMatchObject([
      {
        account: to.toRawString().toUpperCase(),
        in_msg: { value: '1000000000', hash: inside.hash().toString('base64') },
      },
    ]);
  });

  it('knows the tokens that a trace deploys', async () => {
    const admin = new Address(0, Buffer.alloc(32, 0x5e));
    const content = onChainContent({ name: 'Emulated', symbol: 'EMU', decimals: '9' });
    const master = jettonMasterAddress(admin, content);
    const mint = { queryId: 1n, to: admin, amount: 77n, responseDestination: admin };
    const deploying = {
      ...passing(admin, master, toNano('2')),
      init: { code: jettonMasterCode, data: jettonMasterData({ totalSupply: 0n, admin, content }) },
      body: jettonMint({ ...mint, tonAmount: toNano('1'), forwardTonAmount: 0n }),
    };
    const boc = beginCell().store(storeMessage(deploying)).endCell().toBoc().toString('base64');
    const { metadata = {} } = await emulate(stack(), 'emulateTrace', { boc, include_metadata: true });
    const [raw, owner] = [master, admin].map((address) => address.toRawString().toUpperCase());
    expect(metadata[raw]).toMatchObject({
      is_indexed: true,
      token_info: [{ type: 'jetton_masters', valid: true, name: 'Emulated', symbol: 'EMU' }],
    });
    const wallet = jettonWalletAddress(admin, master).toRawString().toUpperCase();
    expect(metadata[wallet]).toMatchObject({
      token_info: [{ type: 'jetton_wallets', extra: { owner, jetton: raw, balance: '77' } }],
    });
  });

  it('emulates what TON Connect asks a wallet for', async () => {
    const { wallet } = demoKeys(stack().program.output());
    const to = new Address(0, Buffer.alloc(32, 0x5d));
    const request = {
      from: wallet.address.toString(),
      messages: [1, 2].map((n) => ({ address: to.toString({ bounceable: false }), amount: String(n * 1_000_000) })),
      valid_until: Date.now() + 60_000,
      with_actions: true,
    };
    const told = await emulate(stack(), 'emulateTonConnect', request);
    expect(told.actions.map(({ type, details }) => [type, details.value])).toEqual([
      ['ton_transfer', '2000000'],
      ['ton_transfer', '1000000'],
    ]);
    const many = { ...request, messages: Array.from({ length: 5 }, () => request.messages[0]) };
    for (const wrong of [{ ...request, from: 'nobody' }, many, { ...request, from: to.toString() }]) {
      expect((await post(stack(), 'emulateTonConnect', wrong)).status).toBe(400);
    }
  });

  it('refuses what is no message, or of a step that is not there', async () => {
    const boc = beginCell().storeUint(1, 8).endCell().toBoc().toString('base64');
    for (const wrong of [{}, { boc: '' }, { boc: 'no base64' }, { boc }, { boc: 5 }]) {
      expect(await post(stack(), 'emulateTrace', wrong)).toMatchObject({
        status: 400,
        json: { error: expect.any(String) },
      });
    }
    const [{ boc: past }] = await pastTraces(stack());
    const late = { boc: past.toString('base64'), mc_block_seqno: 1_000_000 };
    expect(await post(stack(), 'emulateTrace', late)).toEqual({
      status: 400,
      json: { error: 'mc block seqno is too new' },
    });
  });
}
