/**
 * What traders do: each deed is the messages of one wallet call. Values are small, so that fees are most of what is
 * lost.
 */
import { Address, beginCell, type Cell, comment, toNano } from '@ton/core';
import { exchangePayload, exchangeRouterAddress } from '../contracts/exchange.ts';
import { type Fault, faultBody, faultsAddress } from '../contracts/faults.ts';
import { jettonBurn, jettonMint, jettonTransfer, jettonWalletAddress, readJettonWallet } from '../contracts/jettons.ts';
import { nftItemAddress, nftMint, nftQuery, nftTransfer, readNftCollection, readNftItem } from '../contracts/nfts.ts';
import { type Cast, itemContent } from './cast.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { OutMessage, Wallet } from './wallets.ts';

/** Where a deed is done. */
export interface Scene {
  cast: Cast;
  ledger: Ledger;
  random: Random;
}

const COMMENTS = [
  'hello',
  'for the coffee ☕',
  'invoice 2041',
  'спасибо!',
  'ありがとう',
  'thanks for the fish',
  'rent for May',
  '🎁',
  // Longer than one cell, so that it goes on in the next.
  'A longer note, of the kind that people write when they pay for several things at once: two books, the postage, ' +
    'the tea that we had while it rained, and what was still open from last time. All even now, I think.',
];

const SMALLEST = toNano('0.01');
const GREATEST = toNano('0.2');

function amount({ random }: Scene): bigint {
  return random.between(SMALLEST, GREATEST);
}

function someoneElse({ cast, random }: Scene, self: Wallet): Wallet {
  const others = cast.traders.length - 1;
  const at = random.integer(others);
  return cast.traders[cast.traders[at] === self ? others : at];
}

export function transfer(scene: Scene, self: Wallet): OutMessage[] {
  return [{ to: someoneElse(scene, self).address, value: amount(scene), bounce: false }];
}

export function commentedTransfer(scene: Scene, self: Wallet): OutMessage[] {
  return transfer(scene, self).map((message) => ({ ...message, body: comment(scene.random.pick(COMMENTS)) }));
}

/** Two to four transfers in one call, which every wallet version can do. */
export function batch(scene: Scene, self: Wallet): OutMessage[] {
  const length = 2 + scene.random.integer(3);
  return Array.from({ length }, (_, n) => (n % 2 === 0 ? transfer : commentedTransfer)(scene, self)).flat();
}

/** Attached to jetton messages: enough for gas, forwards and the receiver's storage; the rest comes back. */
const JETTON_VALUE = toNano('0.08');

async function jettonsOf(
  { cast, ledger }: Scene,
  owner: Wallet,
  master = cast.jetton.master,
): Promise<{ wallet: Address; balance: bigint }> {
  const wallet = jettonWalletAddress(owner.address, master);
  const account = await ledger.account(wallet);
  return { wallet, balance: account?.data ? readJettonWallet(account.data).balance : 0n };
}

function jettonMessage(scene: Scene, from: Wallet, wallet: Address, units: bigint): OutMessage {
  const { random } = scene;
  const notes = random.integer(2) === 0;
  const body = jettonTransfer({
    queryId: random.bits64(),
    amount: units,
    destination: someoneElse(scene, from).address,
    responseDestination: from.address,
    forwardTonAmount: notes ? toNano('0.01') : 0n,
    forwardPayload: notes ? comment(random.pick(COMMENTS)) : null,
  });
  return { to: wallet, value: JETTON_VALUE, bounce: true, body };
}

export async function jettonPayment(scene: Scene, self: Wallet): Promise<OutMessage[] | null> {
  const { wallet, balance } = await jettonsOf(scene, self);
  if (balance === 0n) return null;
  return [jettonMessage(scene, self, wallet, 1n + scene.random.between(0n, balance / 20n))];
}

/** More than there is: the wallet refuses with 47 and the coins bounce. */
export async function jettonOverdraft(scene: Scene, self: Wallet): Promise<OutMessage[] | null> {
  const { wallet, balance } = await jettonsOf(scene, self);
  if (balance === 0n) return null;
  return [jettonMessage(scene, self, wallet, balance * 1000n)];
}

/** Attached to a trade, and what of it goes on to the router: its messages go through six contracts. */
const TRADE_VALUE = toNano('0.3');
const TRADE_FORWARD = toNano('0.2');

/** Buys gold for jettons, or sells it; now and then for a price that nobody pays. */
export async function trade(scene: Scene, self: Wallet): Promise<OutMessage[] | null> {
  const { cast, random } = scene;
  const { gold } = cast.exchange;
  const [jettons, owned] = [await jettonsOf(scene, self), await jettonsOf(scene, self, gold.master)];
  const sells = owned.balance > 0n && random.integer(2) === 0;
  const { wallet, balance } = sells ? owned : jettons;
  if (balance === 0n) return null;
  const amount = 1n + random.between(0n, balance / 20n);
  const body = jettonTransfer({
    queryId: random.bits64(),
    amount,
    destination: exchangeRouterAddress,
    responseDestination: self.address,
    forwardTonAmount: TRADE_FORWARD,
    forwardPayload: exchangePayload({
      bought: sells ? cast.jetton.master : gold.master,
      minOut: random.integer(6) === 0 ? amount * 1000n : 1n,
      to: self.address,
    }),
  });
  return [{ to: wallet, value: TRADE_VALUE, bounce: true, body }];
}

export async function burn(scene: Scene, self: Wallet): Promise<OutMessage[] | null> {
  const { wallet, balance } = await jettonsOf(scene, self);
  if (balance === 0n) return null;
  const body = jettonBurn({
    queryId: scene.random.bits64(),
    amount: 1n + scene.random.between(0n, balance / 50n),
    responseDestination: self.address,
  });
  return [{ to: wallet, value: JETTON_VALUE, bounce: true, body }];
}

/** The issuer's: of either jetton, to a trader. */
export function mint(scene: Scene): OutMessage[] {
  const { cast, random } = scene;
  const body = jettonMint({
    queryId: random.bits64(),
    to: random.pick(cast.traders).address,
    amount: random.between(1_000_000_000n, 50_000_000_000n),
    tonAmount: toNano('0.05'),
    forwardTonAmount: toNano('0.01'),
    responseDestination: cast.issuer.address,
  });
  const { master } = random.pick([cast.jetton, cast.exchange.gold]);
  return [{ to: master, value: toNano('0.1'), bounce: true, body }];
}

/** Whether the collection may grow: the chain's state is kept in memory. */
const MOST_ITEMS = 10_000n;

async function itemCount({ cast, ledger }: Scene): Promise<bigint> {
  const account = await ledger.account(cast.collection.address);
  return account?.data ? readNftCollection(account.data).nextIndex : 0n;
}

/** The artist's: a new item for a trader. Null when there are enough, or the one before (`after`) is still on its way. */
export async function mintItem(
  scene: Scene,
  after: bigint | null,
): Promise<{ index: bigint; messages: OutMessage[] } | null> {
  const { cast, random } = scene;
  const index = await itemCount(scene);
  if (index === 0n || index >= MOST_ITEMS) return null;
  if (after !== null && index <= after) return null;
  const owner = random.pick(cast.traders).address;
  const body = nftMint({ queryId: random.bits64(), index, owner, content: itemContent(index), amount: toNano('0.05') });
  return { index, messages: [{ to: cast.collection.address, value: toNano('0.08'), bounce: true, body }] };
}

/** An item and its owner, when that is a trader. */
export async function findItem(scene: Scene): Promise<{ item: Address; owner: Address } | null> {
  const count = await itemCount(scene);
  if (count === 0n) return null;
  const item = nftItemAddress(scene.random.between(0n, count), scene.cast.collection.address);
  const account = await scene.ledger.account(item);
  const state = account?.data ? readNftItem(account.data) : null;
  return state === null ? null : { item, owner: state.owner };
}

export function giveItem(scene: Scene, self: Wallet, item: Address): OutMessage[] {
  const { random } = scene;
  const body = nftTransfer({
    queryId: random.bits64(),
    newOwner: someoneElse(scene, self).address,
    responseDestination: self.address,
    forwardAmount: toNano('0.01'),
    forwardPayload: random.integer(2) === 0 ? comment(random.pick(COMMENTS)) : null,
  });
  return [{ to: item, value: toNano('0.06'), bounce: true, body }];
}

/** Asks an item what it is. */
export async function discovery(scene: Scene): Promise<OutMessage[] | null> {
  const found = await findItem(scene);
  if (found === null) return null;
  const body = nftQuery('getStaticData', scene.random.bits64());
  return [{ to: found.item, value: toNano('0.02'), bounce: true, body }];
}

function asksFor(scene: Scene, fault: Fault, bounce: boolean): OutMessage[] {
  return [{ to: faultsAddress, value: toNano('0.02'), bounce, body: faultBody(fault, scene.random.bits64()) }];
}

/** The computation fails and the coins bounce. */
export function bounce(scene: Scene): OutMessage[] {
  return asksFor(scene, { kind: 'throw', code: 200 + scene.random.integer(800) }, true);
}

/** Nobody is there: the computation is skipped and the coins bounce. */
export function lost(scene: Scene): OutMessage[] {
  const nobody = beginCell().storeUint(scene.random.bits64(), 64).endCell().hash();
  return [{ to: new Address(0, nobody), value: amount(scene), bounce: true, body: comment('is anybody there?') }];
}

/** The computation fails and the coins stay. */
export function computeFailure(scene: Scene): OutMessage[] {
  return asksFor(scene, { kind: 'throw', code: 200 + scene.random.integer(800) }, false);
}

export function outOfGas(scene: Scene): OutMessage[] {
  return asksFor(scene, { kind: 'exhaust' }, true);
}

export function actionFailure(scene: Scene): OutMessage[] {
  return asksFor(scene, { kind: 'overspend' }, true);
}

export function log(scene: Scene): OutMessage[] {
  return asksFor(scene, { kind: 'emit', topic: BigInt(scene.random.integer(16)) }, true);
}

/** Body of an external message to the contract that fails: bytes that make it differ from all others. */
export function externalFailureBody({ random }: Scene): Cell {
  return beginCell().storeUint(random.bits64(), 64).endCell();
}
