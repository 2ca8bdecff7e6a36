/** What an order of a multisig does, action by action (spec v3 semantics 6.7). */
import { ENCRYPTED_COMMENT } from '../../../chain/actions/comment.ts';
import type { Boc } from '../../../chain/boc.ts';
import { DecodeError } from '../../../chain/errors.ts';
import { address } from '../../../chain/layouts/addresses.ts';
import { CellView } from '../../../chain/layouts/cell-view.ts';
import { commentOf } from '../../../chain/layouts/common.ts';
import { type Entries, hashmap } from '../../../chain/layouts/dictionaries.ts';
import { jettonBurn, jettonSetStatus, jettonTransfer } from '../../../chain/layouts/jettons.ts';
import { body, type Layout } from '../../../chain/layouts/layout.ts';
import { type RelaxedMessage, relaxedMessage } from '../../../chain/layouts/messages.ts';
import { multisigAction } from '../../../chain/layouts/multisig.ts';
import { nftTransfer } from '../../../chain/layouts/nfts.ts';
import { coins, u8, u32, u64 } from '../../../chain/layouts/numbers.ts';
import { cell, type Payload, record, ref, rest } from '../../../chain/layouts/shapes.ts';
import { plainText, readSnake, snakeText } from '../../../chain/layouts/texts.ts';
import type { Address } from '../../../chain/model.ts';
import type { Book } from './book.ts';
import { addressOrNull } from './tokens.ts';

const SEND = 0xf1381e5b;

/**
 * Bytes of an order's printed actions behind which no further action is told: all 256 may share their cells, so a small
 * order can stand for a text hundreds of times its size.
 */
const MOST_TOLD = 1 << 20;
/** Of all orders of an answer. */
const MOST_OF_ANSWER = 16 << 20;

/** How many bytes of actions an answer still has room for. */
export interface Room {
  bytes: number;
}

export const roomForActions = (): Room => ({ bytes: MOST_OF_ANSWER });

/** What was printed of the cells of a bag: it goes with the order that the bag is. */
const printed = new WeakMap<Boc, Map<string, string>>();

function base64(view: CellView | null): string {
  if (view === null) return 'null';
  const texts = printed.get(view.boc) ?? new Map<string, string>();
  printed.set(view.boc, texts);
  const text = texts.get(view.place) ?? `"${view.serialize().toString('base64')}"`;
  texts.set(view.place, text);
  return text;
}

/** JSON text of an order's `actions`; `null` when the order is no dictionary. @param room is less by what is told */
export function orderActionsJson(orderBoc: Buffer, book: Book, room: Room): string {
  try {
    const entries = hashmap(8, rest).read(CellView.parse(orderBoc).cursor());
    const keys = [...entries.keys()].sort();
    let left = Math.min(MOST_TOLD, room.bytes);
    const actions = keys.map((key) => {
      if (left <= 0) return failedJson('the actions before it are too large to tell this one, too');
      const json = actionJson(entryOf(entries, key), book);
      const size = Buffer.byteLength(json);
      left -= size;
      room.bytes -= size;
      return json;
    });
    return `[${actions.join(',')}]`;
  } catch (error) {
    if (error instanceof DecodeError) return 'null';
    throw error;
  }
}

function entryOf(entries: Entries<CellView>, key: string): CellView {
  const entry = entries.get(key);
  if (entry === undefined) throw new Error('a key without its entry');
  return entry;
}

/** @param value what stands under a key: a reference with the action in it */
function actionJson(value: CellView, book: Book): string {
  try {
    const entry = cell.read(value.cursor());
    if (entry.opcode !== SEND) return updateJson(entry, book);
    const cursor = entry.cursor();
    cursor.skip(32);
    const mode = cursor.u(8);
    return sendJson(mode, relaxedMessage.read(cursor.open()), book);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return failedJson(error.message);
  }
}

function failedJson(reason: string): string {
  return (
    `{"destination":null,"value":null,"body_raw":null,"parsed":false,"error":${JSON.stringify(reason)}` +
    ',"parsed_body":null,"parsed_body_type":"unknown","send_mode":0}'
  );
}

function updateJson(entry: CellView, book: Book): string {
  const update = multisigAction.read(entry.cursor());
  if (update.kind !== 'update_multisig_param') throw new DecodeError('no action of a multisig');
  const addresses = (entries: Entries<Address>): string =>
    `[${[...entries.keys()]
      .sort()
      .map((key) => addressOrNull(entries.get(key) ?? null, book))
      .join(',')}]`;
  return (
    '{"destination":null,"value":null,"body_raw":null,"parsed":true,"error":null' +
    `,"parsed_body":{"new_threshold":${update.threshold},"new_signers":${addresses(update.signers)}` +
    `,"new_proposers":${addresses(update.proposers)}},"parsed_body_type":"multisig_update_params","send_mode":0}`
  );
}

function sendJson(mode: number, message: RelaxedMessage, book: Book): string {
  const { info } = message;
  const view = bodyOf(message);
  const { type, json } = bodyJson(view, book);
  const [destination, value] = info.kind === 'int_msg_info' ? [info.dest, info.value.grams] : [null, null];
  return (
    `{"destination":${addressOrNull(destination, book)},"value":${value === null ? 'null' : `"${value}"`}` +
    `,"body_raw":${base64(view)},"parsed":true,"error":null,"parsed_body":${json}` +
    `,"parsed_body_type":"${type}","send_mode":${mode}}`
  );
}

/** As a cell of its own, whether it stands in a reference or beside the head. */
function bodyOf({ body: { value } }: RelaxedMessage): CellView {
  return value;
}

interface Parsed {
  type: string;
  json: string;
}

function bodyJson(view: CellView, book: Book): Parsed {
  const { opcode } = view;
  if (opcode === null || opcode === 0 || opcode === ENCRYPTED_COMMENT) {
    const encrypted = opcode === ENCRYPTED_COMMENT;
    const comment = encrypted ? encryptedText(view) : ((opcode === null ? shortText(view) : commentOf(view)) ?? '');
    return { type: 'ton_transfer', json: `{"comment":${JSON.stringify(comment)},"encrypted":${encrypted}}` };
  }
  for (const known of KNOWN) {
    try {
      const json = known.print(view, book);
      if (json !== null) return { type: known.type, json };
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      return { type: 'unknown', json: `{"opcode":0,"data":${base64(view)}}` };
    }
  }
  return { type: 'unknown', json: `{"opcode":${opcode},"data":${base64(view)}}` };
}

/** Of a body that is too short for an opcode: whole bytes are its text. */
function shortText(view: CellView): string | null {
  return view.isExotic || view.bits === 0 || (view.bits & 7) !== 0 ? null : plainText(view.cursor());
}

/** Base64: it is no text for anyone but its reader. */
function encryptedText(view: CellView): string {
  const cursor = view.cursor();
  cursor.skip(32);
  return readSnake(cursor).toString('base64');
}

interface KnownBody {
  type: string;
  print(view: CellView, book: Book): string | null;
}

/** Fields of a body by their names in print; `query_id` goes before them. */
function known<T extends { query_id: string }>(
  type: string,
  layout: Layout<T>,
  fields: (value: T, book: Book) => Record<string, string>,
): KnownBody {
  return {
    type,
    print(view, book) {
      const value = layout.in(view);
      if (value === null) return null;
      const printed = Object.entries({ query_id: value.query_id, ...fields(value, book) });
      return `{${printed.map(([name, json]) => `"${name}":${json}`).join(',')}}`;
    },
  };
}

const quoted = (text: string): string => JSON.stringify(text);

/** What a forward payload says, and the whole of it, though it be an empty cell. */
function forwardFields({ cell: view }: Payload, book: Book): Record<string, string> {
  const { opcode } = view;
  const fields = (sum: string, comment = '', encrypted = false, swap = 'null') => ({
    comment: quoted(comment),
    encrypted_comment: String(encrypted),
    forward_payload: base64(view),
    payload_sum_type: quoted(sum),
    stonfi_swap_body: swap,
  });
  if (view.bits === 0) return fields('');
  if (opcode === 0) return fields('TextComment', commentOf(view) ?? '');
  if (opcode === ENCRYPTED_COMMENT) return fields('EncryptedTextComment', encryptedText(view), true);
  return opcode === swapOrder.opcode ? fields('StonfiSwap', '', false, swapJson(view, book)) : fields('Unknown');
}

/** What it begins with is read alone. */
const swapOrder = body('stonfi_swap', 0x25938561, { jetton_wallet: address, min_amount: coins, user_address: address });

/** `null` where it cannot be read. */
function swapJson(view: CellView, book: Book): string {
  try {
    const swap = swapOrder.in(view);
    if (swap === null) return 'null';
    return (
      `{"jetton_wallet":${addressOrNull(swap.jetton_wallet, book)},"min_amount":"${wholeCoins(swap.min_amount)}"` +
      `,"user_address":${addressOrNull(swap.user_address, book)}}`
    );
  } catch (error) {
    if (error instanceof DecodeError) return 'null';
    throw error;
  }
}

/** An amount of the smallest units in whole coins, without zeros at its end. */
function wholeCoins(amount: string): string {
  const digits = amount.padStart(COIN_DIGITS + 1, '0');
  return `${digits.slice(0, -COIN_DIGITS)}.${digits.slice(-COIN_DIGITS)}`.replace(/\.?0+$/, '');
}

const COIN_DIGITS = 9;

const query = { query_id: u64 };
const jettonMint = body('jetton_mint', 0x642b7d07, {
  ...query,
  to_address: address,
  ton_amount: coins,
  master_msg: ref(record(null, { opcode: u32, ...query, amount: coins, rest })),
});

/** What stands behind is not asked for: there are wallets that do not, either. */
const jettonBurnHead = body('jetton_burn', jettonBurn.opcode, {
  ...query,
  amount: coins,
  response_destination: address,
});

const KNOWN: readonly KnownBody[] = [
  known('jetton_transfer', jettonTransfer, (one, book) => ({
    amount: quoted(one.amount),
    destination: addressOrNull(one.destination, book),
    response: addressOrNull(one.response_destination, book),
    custom_payload: base64(one.custom_payload),
    forward_amount: quoted(one.forward_ton_amount),
    ...forwardFields(one.forward_payload, book),
  })),
  known('jetton_burn', jettonBurnHead, (one, book) => ({
    amount: quoted(one.amount),
    response_destination: addressOrNull(one.response_destination, book),
  })),
  known('jetton_mint', jettonMint, (one, book) => ({
    opcode: String(jettonMint.opcode),
    to_address: addressOrNull(one.to_address, book),
    ton_amount: quoted(one.ton_amount),
    master_msg_query_id: one.master_msg.query_id,
    master_msg_jetton_amount: quoted(one.master_msg.amount),
  })),
  // Taken for the mint of the other minter, which it is not.
  { type: 'unknown', print: (view) => (view.opcode === 0x15 ? `{"opcode":0,"data":${base64(view)}}` : null) },
  known('nft_transfer', nftTransfer, (one, book) => ({
    new_owner: addressOrNull(one.new_owner, book),
    response_destination: addressOrNull(one.response_destination, book),
    custom_payload: base64(one.custom_payload),
    forward_amount: quoted(one.forward_amount),
    forward_payload: base64(one.forward_payload.cell),
  })),
  known('jetton_top_up', body('jetton_top_up', 0x00009fd3, query), () => ({})),
  known(
    'jetton_change_admin',
    body('jetton_change_admin', 0x6501f354, { ...query, new_admin_address: address }),
    (one, book) => ({ new_admin_address: addressOrNull(one.new_admin_address, book) }),
  ),
  known('jetton_claim_admin', body('jetton_claim_admin', 0xfb88e119, query), () => ({})),
  known(
    'jetton_change_content',
    body('jetton_change_content', 0xcb862902, { ...query, url: snakeText }),
    ({ url }) => ({ new_metadata_url: quoted(url) }),
  ),
  known(
    'jetton_call_to',
    body('jetton_call_to', 0x235caf52, { ...query, to_address: address, ton_amount: coins, action: cell }),
    ({ to_address, ton_amount, action }, book) => ({
      to_address: addressOrNull(to_address, book),
      ton_amount: quoted(ton_amount),
      action_type: quoted(actionType(action)),
      action_data: base64(action),
    }),
  ),
  known('jetton_set_status', jettonSetStatus, ({ status }) => ({
    new_status: String(status),
  })),
  known('single_nominator_withdraw', body('single_nominator_withdraw', 0x00001000, { ...query, coins }), (one) => ({
    coins: quoted(one.coins),
  })),
  known(
    'single_nominator_change_validator',
    body('single_nominator_change_validator', 0x00001001, { ...query, validator: address }),
    ({ validator }, book) => ({ validator_address: addressOrNull(validator, book) }),
  ),
  known(
    'vesting_internal_transfer',
    body('vesting_internal_transfer', 0x75097f5d, { ...query, mode: u8, message: ref(relaxedMessage) }),
    ({ mode, message }, book) => {
      const { info } = message;
      const view = bodyOf(message);
      const comment = view.opcode === 0 ? (commentOf(view) ?? '') : '';
      return {
        send_mode: String(mode),
        destination: info.kind === 'int_msg_info' ? addressOrNull(info.dest, book) : 'null',
        value: info.kind === 'int_msg_info' ? quoted(info.value.grams) : 'null',
        message_body: base64(view),
        comment: quoted(comment),
      };
    },
  ),
];

/** What a master is to have one of its wallets do; nothing where no opcode says. */
function actionType({ opcode }: CellView): string {
  return opcode === null ? '' : (WALLET_ACTIONS.get(opcode) ?? 'Unknown');
}

const WALLET_ACTIONS: ReadonlyMap<number, string> = new Map([
  [jettonTransfer.opcode, 'JettonTransfer'],
  [jettonBurn.opcode, 'JettonBurn'],
  [jettonSetStatus.opcode, 'JettonSetStatus'],
]);
