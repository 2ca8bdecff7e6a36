/** tgBTC: bitcoins behind a bridge whose keys a group of signers holds. Its contracts tell in logs what they did. */

import { compareDecimal } from '../decimal.ts';
import { anyAddress } from '../layouts/addresses.ts';
import { jettonBurnNotification } from '../layouts/jettons.ts';
import { body } from '../layouts/layout.ts';
import { coins, u256 } from '../layouts/numbers.ts';
import { tgbtcBurnEvent, tgbtcDkgCompletedEvent, tgbtcMintEvent, tgbtcNewKeyEvent } from '../layouts/services.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, messageOf, readBody, tryBody } from './bodies.ts';
import type { Details } from './details.ts';
import { jettonBurn, jettonMint } from './jettons.ts';
import { declare, type Group } from './kind.ts';
import type { Pattern } from './pattern.ts';
import { tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

const groups: readonly Group[] = ['tgbtc'];

const MINT_REQUEST = 0x3f781d24;
const MINT_ANSWER = 0xe42a879b;
const TELEPORT_BURN = 0x587643a2;
const PEGOUT = 0xbe44e7a6;
const PEGOUT_ANSWER = 0x1a84c0e0;
const NEW_KEY = 0x690f357a;
/** Blocks between the request of a mint and its answer. */
const LONGEST_WAY = 20;

// Addresses of early logs are by chance those of any of several accounts.
const mintEvent = body('tgbtc_mint_event', tgbtcMintEvent.opcode, {
  amount: coins,
  recipient_address: anyAddress,
  bitcoin_txid: u256,
});
// A burn needs its amount; the addresses behind it are told where they can be read.
const burnAmount = body('tgbtc_burn_event', tgbtcBurnEvent.opcode, { amount: coins });
const burnSender = body('tgbtc_burn_event', tgbtcBurnEvent.opcode, { amount: coins, sender_address: anyAddress });
const burnEvent = body('tgbtc_burn_event', tgbtcBurnEvent.opcode, {
  amount: coins,
  sender_address: anyAddress,
  pegout_address: anyAddress,
});
const keyEvent = body('tgbtc_new_key_event', tgbtcNewKeyEvent.opcode, {
  amount: coins,
  new_internal_pubkey: u256,
  pegout_address: anyAddress,
});

const mintLog: Pattern = { op: tgbtcMintEvent.opcode, as: 'log' };
const burnLog: Pattern = { op: tgbtcBurnEvent.opcode, as: 'log' };
const keyLog: Pattern = { op: tgbtcNewKeyEvent.opcode, as: 'log' };
const pegout: Pattern = {
  op: PEGOUT,
  optional: true,
  children: [
    { op: PEGOUT_ANSWER, optional: true },
    { block: tonTransfer.block, optional: true },
  ],
};

interface Mint {
  source: RawAddress | null;
  teleport: RawAddress | null;
  destination: RawAddress | null;
  amount: Decimal;
  asset: RawAddress | null;
  bitcoinTx: string;
  wallet: RawAddress | null;
}

const mintDetails = ({ source, destination, amount, asset, bitcoinTx, wallet }: Mint): Details => ({
  source,
  destination,
  amount,
  asset,
  bitcoin_tx_id: bitcoinTx,
  destination_wallet: wallet,
});

const mintAccounts = ({ source, teleport, destination, wallet }: Mint) => ({
  source,
  source2: teleport,
  destination,
  destination2: wallet,
});

/** Bitcoin prints ids of transactions from the last byte to the first. */
function bitcoinId(id: Decimal): string {
  const bytes = Buffer.from(BigInt(id).toString(16).padStart(64, '0'), 'hex');
  return bytes.reverse().toString('hex');
}

function readMintLog(log: Block) {
  const { amount, recipient_address: recipient, bitcoin_txid: id } = readBody(log, mintEvent);
  const teleport = messageOf(log).source;
  return { teleport, destination: addressText(recipient), amount, bitcoinTx: bitcoinId(id) };
}

const mint = declare<Mint>({
  block: 'tgbtc_mint',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 55,
      pattern: { op: MINT_ANSWER, children: [mintLog, { block: jettonMint.block, as: 'mint' }] },
      read(found) {
        const log = found.first('log');
        const minted = jettonMint.of(found.first('mint'));
        const way = wayFrom(found.head);
        if (log === null || minted === null || way === null) return null;
        return {
          data: {
            ...readMintLog(log),
            source: way[way.length - 1].node.message?.source ?? null,
            asset: minted.asset,
            wallet: minted.receiverWallet,
          },
          blocks: new Set([...way, ...found.all()]),
        };
      },
    },
  ],
  details: mintDetails,
  accounts: mintAccounts,
});

/** The blocks before one, up to the request; null when it is not among the last of them. */
function wayFrom(tail: Block): Block[] | null {
  const way: Block[] = [];
  for (let block = tail.prev; block !== null && way.length < LONGEST_WAY; block = block.prev) {
    if (block.kind === null) return null;
    way.push(block);
    if (block.opcode === MINT_REQUEST) return way;
  }
  return null;
}

const mintFallback = declare<Mint>({
  block: 'tgbtc_mint',
  type: 'tgbtc_mint_fallback',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 58,
      pattern: mintLog,
      read({ head }) {
        const told = readMintLog(head);
        return { data: { ...told, source: told.teleport, asset: null, wallet: null } };
      },
    },
  ],
  details: mintDetails,
  accounts: mintAccounts,
});

interface Burn {
  source: RawAddress | null;
  wallet: RawAddress | null;
  destination: RawAddress | null;
  amount: Decimal;
  asset: RawAddress | null;
}

const burnDetails = ({ source, wallet, destination, amount, asset }: Burn): Details => ({
  source,
  source_wallet: wallet,
  destination,
  amount,
  asset,
});

const burnAccounts = ({ source, wallet, destination }: Burn) => ({ source, source2: wallet, destination });

const burn = declare<Burn>({
  block: 'tgbtc_burn',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 56,
      pattern: {
        block: jettonBurn.block,
        child: { op: [jettonBurnNotification.opcode, TELEPORT_BURN], children: [burnLog, pegout] },
      },
      read(found) {
        const log = found.first('log');
        const burnt = jettonBurn.of(found.head);
        if (log === null || burnt === null) return null;
        const { amount } = readBody(log, burnAmount);
        return {
          data: {
            source: burnt.owner,
            wallet: burnt.wallet,
            destination: addressText(tryBody(log, burnEvent)?.pegout_address ?? null),
            amount: burnt.amount !== '0' && compareDecimal(burnt.amount, amount) < 0 ? burnt.amount : amount,
            asset: burnt.asset,
          },
        };
      },
    },
  ],
  details: burnDetails,
  accounts: burnAccounts,
});

const burnFallback = declare<Burn>({
  block: 'tgbtc_burn',
  type: 'tgbtc_burn_fallback',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 59,
      pattern: burnLog,
      read({ head }) {
        return {
          data: {
            source: addressText(tryBody(head, burnSender)?.sender_address ?? null),
            wallet: null,
            destination: addressText(tryBody(head, burnEvent)?.pegout_address ?? null),
            amount: readBody(head, burnAmount).amount,
            asset: null,
          },
        };
      },
    },
  ],
  details: burnDetails,
  accounts: burnAccounts,
});

interface NewKey {
  source: RawAddress | null;
  pubkey: string;
  coordinator: RawAddress | null;
  pegout: RawAddress | null;
  amount: Decimal;
}

const keyDetails = ({ source, pubkey, coordinator, pegout, amount }: NewKey): Details => ({
  source,
  pubkey,
  coordinator,
  pegout,
  amount,
  asset: null,
});

const keyAccounts = ({ source, coordinator, pegout }: NewKey) => ({
  source,
  destination: coordinator,
  destination2: pegout,
});

function readKeyLog(log: Block) {
  const { amount, new_internal_pubkey: key, pegout_address: pegout } = readBody(log, keyEvent);
  return { amount, pubkey: keyText(key), coordinator: messageOf(log).source, pegout: addressText(pegout) };
}

function keyText(key: Decimal): string {
  return BigInt(key).toString(16);
}

const newKey = declare<NewKey>({
  block: 'tgbtc_new_key',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 57,
      pattern: {
        op: NEW_KEY,
        children: [keyLog, pegout],
        parent: { child: { op: tgbtcDkgCompletedEvent.opcode, as: 'generated' } },
      },
      read(found) {
        const log = found.first('log');
        const generated = found.first('generated');
        if (log === null || generated === null) return null;
        return { data: { ...readKeyLog(log), source: messageOf(generated).source } };
      },
    },
  ],
  details: keyDetails,
  accounts: keyAccounts,
});

const newKeyFallback = declare<NewKey>({
  block: 'tgbtc_new_key',
  type: 'tgbtc_new_key_fallback',
  groups,
  leaf: false,
  matchers: [{ rank: 60, pattern: keyLog, read: ({ head }) => ({ data: { ...readKeyLog(head), source: null } }) }],
  details: keyDetails,
  accounts: keyAccounts,
});

const generatedFallback = declare<{ coordinator: RawAddress | null; pubkey: string; timestamp: Decimal }>({
  block: 'tgbtc_dkg_log',
  type: 'tgbtc_dkg_log_fallback',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 61,
      pattern: { op: tgbtcDkgCompletedEvent.opcode },
      read({ head }) {
        const { timestamp, internal_pubkey: key } = readBody(head, tgbtcDkgCompletedEvent);
        return { data: { coordinator: messageOf(head).source, pubkey: keyText(key), timestamp } };
      },
    },
  ],
  details: ({ coordinator, pubkey, timestamp }) => ({ coordinator, pubkey, timestamp }),
  accounts: ({ coordinator }) => ({ source: coordinator }),
});

export const kinds = [mint, burn, newKey, mintFallback, burnFallback, newKeyFallback, generatedFallback];
