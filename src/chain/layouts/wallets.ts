/** What wallets are told: requests to v5 and to plugins by opcode, signed external bodies of the others. */
import { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { internalAddress } from './addresses.ts';
import type { Codec, Printer, ValueOf } from './codec.ts';
import { dictionary, hashmap } from './dictionaries.ts';
import { body } from './layout.ts';
import { currencies, modeAndMessage, outList, relaxedMessage, stateInit } from './messages.ts';
import { bits256, bits512, bool, coins, int, u8, u16, u32, u64, uint } from './numbers.ts';
import { cell, type Fields, maybe, type RecordOf, record, ref, union, variant } from './shapes.ts';

const extendedAction = union(
  'W5ExtendedAction',
  variant('add_extension', 8, 2, { addr: internalAddress }),
  variant('delete_extension', 8, 3, { addr: internalAddress }),
  variant('set_signature_auth_allowed', 8, 4, { allowed: bool }),
);

export type ExtendedAction = ValueOf<typeof extendedAction>;

/** A wallet takes no more of them than of out-actions. */
const MAX_EXTENDED_ACTIONS = 255;

/** `W5ExtendedActionList n`: an action, then the next one in a reference. The signature follows the first. */
const extendedActions: Codec<ExtendedAction[]> = {
  read(cursor) {
    const actions = [extendedAction.read(cursor)];
    for (let current = cursor; current.refsLeft > 0; ) {
      if (actions.length === MAX_EXTENDED_ACTIONS) throw new DecodeError('too many actions');
      current = current.open();
      actions.push(extendedAction.read(current));
    }
    return actions;
  },
  write: writeExtended,
  print: (cursor, printer) => printExtended(cursor, printer, 1),
  sample: (chance) => Array.from({ length: 1 + chance.below(3) }, () => extendedAction.sample(chance)),
};

function writeExtended(builder: Builder, actions: readonly ExtendedAction[]): void {
  if (actions.length === 0) throw new RangeError('a list of actions is not empty');
  extendedAction.write(builder, actions[0]);
  if (actions.length === 1) return;
  const next = new Builder();
  writeExtended(next, actions.slice(1));
  builder.ref(next.cell());
}

function printExtended(cursor: Cursor, printer: Printer, count: number): string {
  printer.step();
  const action = extendedAction.print(cursor, printer);
  if (cursor.refsLeft === 0) return `{"@type":"extended_list_last","action":${action}}`;
  if (count === MAX_EXTENDED_ACTIONS) throw new DecodeError('too many actions');
  const next = printExtended(cursor.open(), printer, count + 1);
  return `{"@type":"extended_list_action","action":${action},"prev":${next}}`;
}

const w5Inner = record('w5_actions_request', {
  out_actions: maybe(ref(outList)),
  extended_actions: maybe(extendedActions),
});

const w5Request = record('w5_signed_request', {
  wallet_id: u32,
  valid_until: u32,
  msg_seqno: u32,
  inner: w5Inner,
  signature: bits512,
});

export const w5InternalSignedRequest = body('w5_internal_signed_request', 0x73696e74, { request: w5Request });
export const w5ExternalSignedRequest = body('w5_external_signed_request', 0x7369676e, { request: w5Request });
export const w5ExtensionActionRequest = body('w5_extension_action_request', 0x6578746e, {
  query_id: u64,
  request: w5Inner,
});

export const highloadV3InternalRequest = body('highload_v3_internal_request', 0xae42e5a4, {
  query_id: u64,
  actions: ref(outList),
});

export const paymentRequest = body('payment_request', 0x706c7567, { query_id: u64, amount: currencies });
export const paymentConfirmed = body('payment_confirmed', 0xf06c7567, { query_id: u64 });
export const pluginDestruct = body('wallet_plugin_destruct', 0x64737472, { query_id: u64 });
export const pluginDestructResponse = body('wallet_plugin_destruct_response', 0xe4737472, { query_id: u64 });
export const pluginInstallation = body('wallet_plugin_installation_notification', 0x6e6f7465, { query_id: u64 });

export const walletBodies = [
  w5InternalSignedRequest,
  w5ExternalSignedRequest,
  w5ExtensionActionRequest,
  highloadV3InternalRequest,
  paymentRequest,
  paymentConfirmed,
  pluginDestruct,
  pluginDestructResponse,
  pluginInstallation,
];

/** Up to four messages, as many as there are references left; their count is a constructor's name. */
const walletMessages: Codec<ValueOf<typeof modeAndMessage>[]> = {
  read(cursor) {
    const messages: ValueOf<typeof modeAndMessage>[] = [];
    while (cursor.refsLeft > 0) messages.push(modeAndMessage.read(cursor));
    return messages;
  },
  write(builder, messages) {
    for (const message of messages) modeAndMessage.write(builder, message);
  },
  print(cursor, printer) {
    const count = cursor.refsLeft;
    let text = `{"@type":"msgs_${count}"`;
    for (let i = 1; i <= count; i++) text += `,"msg_${i}":${modeAndMessage.print(cursor, printer)}`;
    return `${text}}`;
  },
  sample: (chance) => Array.from({ length: chance.below(5) }, () => modeAndMessage.sample(chance)),
};

/** An external body that begins with a signature rather than an opcode. It fits only when nothing is left over. */
function signed<F extends Fields>(name: string, fields: F): Codec<RecordOf<F>> & { readonly name: string } {
  return { name, ...record(name, { signature: bits512, ...fields }) };
}

const plugin = { plugin_workchain: int(8), plugin_address: bits256, amount: coins, query_id: u64 };

const w4Operation = union(
  'W4Operation',
  variant('simple_send', 8, 0, { msgs: walletMessages }),
  variant('deploy_install_plugin', 8, 1, {
    plugin_workchain: int(8),
    plugin_balance: coins,
    state_init: ref(stateInit),
    body: cell,
  }),
  variant('install_plugin', 8, 2, plugin),
  variant('remove_plugin', 8, 3, plugin),
);

const header = { subwallet_id: u32, valid_until: u32, msg_seqno: u32 };

/** Of the wallets v1 and v2. */
export const walletSignedV1V2 = signed('wallet_signed_v1_v2', {
  msg_seqno: u32,
  valid_until: u32,
  msgs: walletMessages,
});

export const walletSignedV3 = signed('wallet_signed_v3', { ...header, msgs: walletMessages });
export const walletSignedV4 = signed('wallet_signed_v4', { ...header, op: w4Operation });

/** Without an action any cell would do: the body of another wallet is none of this one. */
const someActions: typeof outList = {
  ...outList,
  read: (cursor) => outList.read(nonEmpty(cursor)),
  print: (cursor, printer) => outList.print(nonEmpty(cursor), printer),
};

function nonEmpty(cursor: Cursor): Cursor {
  if (cursor.refsLeft === 0) throw new DecodeError('no actions');
  return cursor;
}

export const preprocessedWalletV2 = signed('preprocessed_wallet_signed_v2', {
  inner: ref(record(null, { valid_until: u64, seqno: u16, actions: ref(someActions) })),
});

export const highloadV1 = signed('highload_wallet_signed_v1', {
  ...header,
  payload: ref(hashmap(16, modeAndMessage)),
});

export const highloadV2 = signed('highload_wallet_signed_v2', {
  subwallet_id: u32,
  query_id: u64,
  payload: dictionary(16, modeAndMessage),
});

export const highloadV3 = signed('highload_wallet_signed_v3', {
  msg_inner: ref(
    record(null, {
      subwallet_id: u32,
      message_to_send: ref(relaxedMessage),
      send_mode: u8,
      query_id: record(null, { shift: uint(13), bit_number: uint(10) }),
      created_at: u64,
      timeout: uint(22),
    }),
  ),
});

/** A signed body, and what cells it could be by their size alone: most that are none are told without reading them. */
export interface SignedBody {
  readonly codec: Codec<unknown>;
  fits(bits: number, refs: number): boolean;
}

const SIGNATURE = 512;
const HEADER = SIGNATURE + 96;
const MODE = 8;

/** In the order of trial. */
export const signedBodies: readonly SignedBody[] = [
  { codec: preprocessedWalletV2, fits: (size, refs) => size === SIGNATURE && refs === 1 },
  { codec: highloadV3, fits: (size, refs) => size === SIGNATURE && refs === 1 },
  { codec: highloadV2, fits: (size, refs) => size === HEADER + 1 && refs <= 1 },
  { codec: highloadV1, fits: (size, refs) => size === HEADER && refs === 1 },
  { codec: walletSignedV4, fits: (size) => size >= HEADER + MODE },
  { codec: walletSignedV3, fits: (size, refs) => size === HEADER + MODE * refs },
  { codec: walletSignedV1V2, fits: (size, refs) => size === SIGNATURE + 64 + MODE * refs },
];
