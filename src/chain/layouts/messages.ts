/** Messages and lists of out-actions as contracts write them (crypto/block/block.tlb). */
import { Builder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { address, externalAddress, internalAddress } from './addresses.ts';
import type { Codec, Printer, ValueOf } from './codec.ts';
import { dictionary } from './dictionaries.ts';
import { bits256, bool, grams, u8, u32, u64, uint, varUint } from './numbers.ts';
import { cell, either, maybe, maybeCell, record, ref, rest, union, variant } from './shapes.ts';

/** `CurrencyCollection`. */
export const currencies = record('currencies', {
  grams,
  other: record('extra_currencies', { dict: dictionary(32, varUint(5)) }),
});

/** `StateInit`. */
export const stateInit = record(null, {
  fixed_prefix_length: maybe(uint(5)),
  special: maybe(record('tick_tock', { tick: bool, tock: bool })),
  code: maybeCell,
  data: maybeCell,
  library: maybeCell,
});

const times = { created_lt: u64, created_at: u32 };

/** `CommonMsgInfoRelaxed`: the sender may be left out. */
export const relaxedInfo = union(
  'CommonMsgInfoRelaxed',
  variant('int_msg_info', 1, 0, {
    ihr_disabled: bool,
    bounce: bool,
    bounced: bool,
    src: address,
    dest: internalAddress,
    value: currencies,
    ihr_fee: grams,
    fwd_fee: grams,
    ...times,
  }),
  variant('ext_out_msg_info', 2, 0b11, { src: address, dest: externalAddress, ...times }),
);

/** `MessageRelaxed Any`: a message that is still to be sent. */
export const relaxedMessage = record('message', {
  info: relaxedInfo,
  init: maybe(either(stateInit, ref(stateInit))),
  body: either(rest, ref(rest)),
});

export type RelaxedMessage = ValueOf<typeof relaxedMessage>;

/** How a message is sent, and the message. */
export const modeAndMessage = record(null, { mode: u8, msg: ref(relaxedMessage) });

/** Constructors of `OutAction`. */
export const outActions = {
  send: variant('action_send_msg', 32, 0x0ec3c86d, { mode: u8, out_msg: ref(relaxedMessage) }),
  setCode: variant('action_set_code', 32, 0xad4de08e, { new_code: cell }),
  reserve: variant('action_reserve_currency', 32, 0x36e6b809, { mode: u8, currency: currencies }),
  changeLibrary: variant('action_change_library', 32, 0x26fa1dd4, {
    mode: uint(7),
    libref: union(
      'LibRef',
      variant('libref_hash', 1, 0, { lib_hash: bits256 }),
      variant('libref_ref', 1, 1, { library: cell }),
    ),
  }),
};

/** `OutAction`. */
export const outAction = union(
  'OutAction',
  outActions.send,
  outActions.setCode,
  outActions.reserve,
  outActions.changeLibrary,
);

export type OutAction = ValueOf<typeof outAction>;

/** Contracts cannot act more often. */
const MAX_ACTIONS = 255;

/** `OutList n`: the actions in the order they are done. The cell holds the last one and refers to those before it. */
export const outList: Codec<OutAction[]> = {
  read(cursor) {
    const actions: OutAction[] = [];
    for (let current = cursor; current.refsLeft > 0; ) {
      if (actions.length === MAX_ACTIONS) throw new DecodeError('too many actions');
      const before = current.open();
      actions.push(outAction.read(current));
      current = before;
    }
    return actions.reverse();
  },
  write: (builder, actions) => writeActions(builder, actions, actions.length),
  print: (cursor, printer) => printActions(cursor, printer, 0),
  sample: (chance) => Array.from({ length: 1 + chance.below(3) }, () => outAction.sample(chance)),
};

function writeActions(builder: Builder, actions: readonly OutAction[], count: number): void {
  if (count === 0) return;
  const before = new Builder();
  writeActions(before, actions, count - 1);
  builder.ref(before.cell());
  outAction.write(builder, actions[count - 1]);
}

function printActions(cursor: Cursor, printer: Printer, count: number): string {
  if (cursor.refsLeft === 0) return '{"@type":"out_list_empty"}';
  if (count === MAX_ACTIONS) throw new DecodeError('too many actions');
  printer.step();
  const before = printActions(cursor.open(), printer, count + 1);
  return `{"@type":"out_list","prev":${before},"action":${outAction.print(cursor, printer)}}`;
}
