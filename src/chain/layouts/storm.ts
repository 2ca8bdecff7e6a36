/** Storm Trade: positions, orders, smart accounts. */
import type { Builder } from '../builder.ts';
import { DecodeError } from '../errors.ts';
import { address, internalAddress } from './addresses.ts';
import type { Codec, ValueOf } from './codec.ts';
import { dictionary } from './dictionaries.ts';
import { body } from './layout.ts';
import { relaxedMessage } from './messages.ts';
import { bigInt, bits256, bits512, bool, coins, i64, int, u8, u16, u32, u64, u256, uint } from './numbers.ts';
import { cell, lazy, maybe, maybeCell, record, ref, rest, union, unnamed, variant } from './shapes.ts';

const query = { query_id: u64 };

/** False for long, true for short. */
const direction = bool;
const i128 = bigInt(128);

const position = record(null, {
  size: i128,
  direction,
  margin: coins,
  open_notional: coins,
  last_updated_cumulative_premium: i64,
  fee: u32,
  discount: u32,
  rebate: u32,
  last_updated_timestamp: u32,
});

const ammState = record('amm_state_log', {
  quote_asset_reserve: coins,
  quote_asset_weight: coins,
  base_asset_reserve: coins,
  total_long_position_size: coins,
  total_short_position_size: coins,
  open_interest_long: coins,
  open_interest_short: coins,
});

const depth = {
  vpi_spread: coins,
  vpi_market_depth_long: coins,
  vpi_market_depth_short: coins,
  vpi_coefficient: u64,
};

const trigger = { expiration: u32, direction, amount: coins, trigger_price: coins };

const creation = {
  expiration: u32,
  direction,
  amount: coins,
  leverage: u64,
  limit_price: coins,
  stop_price: coins,
  stop_trigger_price: coins,
  take_trigger_price: coins,
};

const createOrder = union(
  'StormCreateOrder',
  variant('limit_order', 4, 2, creation),
  variant('market_order', 4, 3, creation),
);

const userOrder = union(
  'StormUserOrder',
  variant('stop_loss_order', 4, 0, trigger),
  variant('take_profit_order', 4, 1, trigger),
  variant('add_margin', 4, 4, { direction, amount: coins }),
  variant('remove_margin', 4, 5, { direction, amount: coins }),
  variant('request_order', 4, 8, { selector: bool, order: createOrder }),
  { name: 'created', tagBits: 0, tag: 0, fields: record(null, { order: createOrder }) },
);

const executorOrder = union(
  'StormExecutorOrder',
  variant('liquidate', 4, 6, { direction }),
  variant('force_close', 4, 7, { direction }),
  variant('force_close_max_leverage', 4, 9, { direction }),
  variant('force_close_min_margin', 4, 10, { direction }),
);

/** The other way round than `Maybe`: 1 for nothing. */
function invertedMaybe<T>(codec: Codec<T>): Codec<T | null> {
  return {
    read: (cursor) => (cursor.bit() ? null : codec.read(cursor)),
    write(builder: Builder, value) {
      builder.bit(value === null);
      if (value !== null) codec.write(builder, value);
    },
    print(cursor, printer) {
      if (cursor.bit()) return '{"@type":"nothing_from_inverted_maybe"}';
      const value = codec.printArgument?.(cursor, printer) ?? codec.print(cursor, printer);
      return `{"@type":"just_from_inverted_maybe","value":${value}}`;
    },
    sample: (chance) => (chance.below(2) === 0 ? null : codec.sample(chance)),
  };
}

interface Signatures {
  kind: string;
  continue: Signatures | null;
}

const signatures: Codec<Signatures> = union(
  'StormSignature',
  variant('empty', 1, 0, { continue: invertedMaybe(ref(lazy(() => signatures))) }),
  variant('fulled', 1, 1, { signature: bits512, continue: invertedMaybe(ref(lazy(() => signatures))) }),
);

const update = ref(
  record('update_msg', {
    price: coins,
    spread: coins,
    timestamp: u32,
    assetIndex: u16,
    pause_at: u32,
    unpause_at: u32,
    ...depth,
  }),
);

const signedUpdate = { update_msg: update, signatures: ref(signatures) };
const settledUpdate = { ...signedUpdate, settlement_update_msg: update, settlement_signatures: ref(signatures) };
const single = ref(record('without_settlement', signedUpdate));
const double = ref(record('with_settlement', settledUpdate));

const created = ref(
  union(
    'StormCreatedOraclePayload',
    variant('created_price', 8, 0, signedUpdate),
    variant('created_price_with_settlement', 8, 1, settledUpdate),
  ),
);

/** A number that can have one value only. */
function constant(bits: number, value: number): Codec<number> {
  const check = (found: number): number => {
    if (found !== value) throw new DecodeError(`${found} is not ${value}`);
    return found;
  };
  return {
    read: (cursor) => check(cursor.u(bits)),
    write: (builder) => builder.u(value, bits),
    print: (cursor) => `"${check(cursor.u(bits))}"`,
    sample: () => value,
  };
}

const feed = record(null, {
  number_of_properties: constant(8, 2),
  price_property_id: constant(8, 0),
  price_property_value: u64,
  exponent_property_id: constant(8, 4),
  exponent_property_value: int(16),
});

const lazerMagic = union('StormLazerPayloadMagic', variant('lazer_payload_magic', 32, 0x93c7d375, {}));
const lazerHead = { magic: lazerMagic, timestamp: u64, channel_id: u8 };

const lazerPayload = union(
  'StormLazerPayload',
  variant('single_lazer_payload', 1, 0, {
    ...lazerHead,
    number_of_feeds: constant(8, 1),
    index_feed_id: u32,
    index_feed: feed,
  }),
  variant('double_lazer_payload', 1, 1, {
    ...lazerHead,
    number_of_feeds: constant(8, 2),
    index_feed_id: u32,
    index_feed: feed,
    settlement_feed_id: u32,
    settlement_feed: feed,
  }),
);

const lazer = maybe(
  ref(
    union(
      'StormLazerMessage',
      variant('lazer_message', 32, 0x9a99222a, {
        r: u256,
        s: u256,
        v: u8,
        payload_length: u16,
        payload: lazerPayload,
      }),
    ),
  ),
);

const oraclePayload = ref(
  union(
    'StormOraclePayload',
    variant('single_lazer_payload', 8, 0, { price_oracle_payload: single, lazer_message: lazer }),
    variant('double_lazer_payload', 8, 1, { price_oracle_payload: double, lazer_message: lazer }),
    variant('single_with_created', 8, 2, {
      price_oracle_payload: single,
      created_oracle_payload: created,
      lazer_message: lazer,
      created_lazer_message: lazer,
    }),
    variant('double_with_created', 8, 3, {
      price_oracle_payload: double,
      created_oracle_payload: created,
      lazer_message: lazer,
      created_lazer_message: lazer,
    }),
  ),
);

const oracleType = union('StormOracleType', variant('storm', 4, 0, {}), variant('lazer', 4, 1, {}));
const referrer = record(null, { referrer_address: internalAddress, referrer_part: u8 });
const referral = { discount: u32, rebate: u32, ref_info: dictionary(4, referrer) };

/** `shift` has a range of its own for users and for executors, `bit_number` up to 1022. */
function queryId(from: number, to: number) {
  const shift = ranged(13, from, to);
  return record(null, { shift, bit_number: ranged(10, 0, 1022) });
}

function ranged(bits: number, from: number, to: number): Codec<number> {
  const check = (found: number): number => {
    if (found < from || found > to) throw new DecodeError(`${found} is not from ${from} to ${to}`);
    return found;
  };
  return {
    read: (cursor) => check(cursor.u(bits)),
    write: (builder, value) => builder.u(value, bits),
    print: (cursor) => `"${check(cursor.u(bits))}"`,
    sample: (chance) => from + chance.below(to - from + 1),
  };
}

const userQueryId = queryId(0, 5999);
const executorQueryId = queryId(6000, 8191);

const userIntent = record(null, {
  query_id: userQueryId,
  created_at: u32,
  reference_query_id: maybe(userQueryId),
  public_key: bits256,
  intent: ref(
    record('user_intent_payload', { amm_address: internalAddress, sa_address: internalAddress, order: ref(userOrder) }),
  ),
});

const executorIntent = record(null, {
  amm_address: internalAddress,
  sa_address: internalAddress,
  order: ref(executorOrder),
});

interface Intent {
  kind: string;
  next_intent: Intent | null;
}

const intent: Codec<Intent> = union(
  'StormIntent',
  variant('user_intent', 1, 0, {
    signature: bits512,
    intent: ref(userIntent),
    oracle_payload: oraclePayload,
    next_intent: maybe(ref(lazy(() => intent))),
  }),
  variant('executor_intent', 1, 1, {
    intent: ref(executorIntent),
    oracle_payload: oraclePayload,
    next_intent: maybe(ref(lazy(() => intent))),
  }),
);

const keyList = dictionary(256, rest);

const initialization = record(null, {
  highload_timeout: uint(24),
  keys: ref(record(null, { hot_public_key: u256, cold_public_key: u256, user_public_keys: keyList, keys_count: u8 })),
  version: u8,
  new_code: cell,
});

const initializationRequest = union(
  'StormInitializationRequest',
  variant('need_key_init', 1, 1, { user_public_keys: keyList }),
  variant('no_key_init', 1, 0, {}),
);

const leverage = { new_max_leverage: u32 };
const lazerData = { oracle_flag: oracleType, index_asset_pyth_id: u32, settlement_asset_pyth_id: u32 };
const executed = { executor_index: u32, oracle_payload: oraclePayload };
const prices = { origin_op: u32, oracle_price: coins, settlement_oracle_price: coins };

const positions = [
  body('storm_force_close_max_leverage', 0x5b705138, executed),
  body('storm_force_close_min_margin', 0x5a8cf652, executed),
  body('storm_change_max_leverage', 0x0ef28735, {
    query_id: u64,
    response_destination: internalAddress,
    ...leverage,
  }),
  body('storm_change_max_leverage_request', 0x28055719, {
    query_id: u64,
    vamm_address: internalAddress,
    ...leverage,
  }),
  body('storm_change_lazer_data', 0x04db6665, {
    query_id: u64,
    response_destination: internalAddress,
    ...lazerData,
  }),
  body('storm_change_lazer_data_request', 0x174c830c, {
    query_id: u64,
    vamm_address: internalAddress,
    ...lazerData,
  }),
  body('storm_update_position', 0x60dfc677, {
    direction,
    ...prices,
    new_position_ref: ref(position),
    amm_state_log: ref(ammState),
  }),
  body('storm_complete_order', 0xcf90d618, {
    order_type: uint(4),
    order_index: uint(3),
    direction,
    ...prices,
    new_position_ref: ref(position),
    amm_state_log: ref(ammState),
    market_depth_log_ref: ref(record('market_depth', depth)),
  }),
  body('storm_trade_notification', 0x3475fdd2, {
    asset_id: u16,
    free_amount: i64,
    locked_amount: i64,
    exchange_amount: i64,
    withdraw_locked_amount: u64,
    fee_to_stakers: u64,
    withdraw_amount: u64,
    trader_addr: internalAddress,
    origin_addr: internalAddress,
    referral_data: maybe(ref(record('referral_params', { referral_amount: coins, referral_addr: address }))),
    executor_params: maybe(
      ref(record('executor_params', { split_executor_reward: bool, executor_amount: coins, executor_index: u32 })),
    ),
  }),
  body('storm_execute_order', 0xde1ddbcc, {
    direction,
    order_index: uint(3),
    trader_addr: internalAddress,
    prev_addr: internalAddress,
    ref_addr: address,
    executor_index: u32,
    order: ref(userOrder),
    position: ref(position),
    oracle_payload: oraclePayload,
  }),
  body('storm_provide_position', 0x13076670, {
    direction,
    gas_to_addr: address,
    inner_opcode: u32,
    executor_index: u32,
    oracle_ref: oraclePayload,
  }),
];

const key = { query_id: u64, public_key: u256 };
const deposited = { query_id: u64, amount: coins, sender_address: internalAddress };

const accounts = [
  body('storm_deploy_ordinary_sa', 0x0302cd79, { query_id: u64, user_public_keys: keyList }),
  body('storm_init_sa', 0x5b0dd9f4, { query_id: u64, init_data: initialization }),
  body('storm_add_public_key', 0x220c4c19, key),
  body('storm_remove_public_key', 0x76519f8b, key),
  body('storm_remove_all_keys_except_current', 0x644794b8, key),
  body('storm_deposit_native', 0x29bb3721, {
    query_id: u64,
    amount: coins,
    receiver_address: internalAddress,
    init: bool,
    key_init: initializationRequest,
  }),
  body('storm_deposit_jetton', 0x76840119, {
    query_id: u64,
    receiver_address: internalAddress,
    init: bool,
    key_init: initializationRequest,
  }),
  body('storm_notify_with_deploy', 0x5a89f5a2, {
    query_id: u64,
    amount: coins,
    user_public_keys: keyList,
    sender_address: internalAddress,
    owner_address: internalAddress,
    jetton_minter_address: internalAddress,
  }),
  body('storm_deposit_notify_with_deploy', 0x18a092f7, {
    query_id: u64,
    vault_address: internalAddress,
    amount: coins,
    sender_address: internalAddress,
    init_data: initialization,
  }),
  body('storm_deposit_notify', 0x186b2edf, { ...deposited, jetton_minter_address: internalAddress }),
  body('storm_deposit_revert', 0x5b27f9c5, {
    query_id: u64,
    amount: coins,
    sender_address: address,
    owner_address: internalAddress,
  }),
  body('storm_unsuccessful_deposit', 0x6cde12e2, query),
  body('storm_withdraw_request_user', 0x6eec039d, { query_id: u64, vault_address: internalAddress, amount: coins }),
  body('storm_withdraw_request', 0x512cbd25, { query_id: u64, amount: coins, owner_address: internalAddress }),
  body('storm_withdraw_success', 0x20d835c2, query),
  body('storm_deposit_ton', 0x5a091c43, query),
];

/** `ref_count:(## 4)` says whether the referral data follows. */
type ReferralData = ValueOf<typeof referralRecord>;
const referralRecord = record(null, referral);

const countedReferral: Codec<{ ref_count: number; ref_data: ReferralData | null }> = {
  read(cursor) {
    const ref_count = cursor.u(4);
    return { ref_count, ref_data: ref_count === 0 ? null : referralRecord.read(cursor) };
  },
  write(builder, { ref_count, ref_data }) {
    builder.u(ref_count, 4);
    if (ref_data !== null) referralRecord.write(builder, ref_data);
  },
  print(cursor, printer) {
    const count = cursor.u(4);
    return count === 0 ? '"0"' : `"${count}","ref_data":${referralRecord.print(cursor, printer)}`;
  },
  sample(chance) {
    const ref_count = chance.below(16);
    return { ref_count, ref_data: ref_count === 0 ? null : referralRecord.sample(chance) };
  },
};

const upgrade = dictionary(8, record(null, { migrate_code: maybeCell, new_code: maybeCell }));

const bundle = {
  query_id: u64,
  signature: bits512,
  payload: ref(
    record(null, {
      query_id: executorQueryId,
      created_at: u32,
      sa_address: internalAddress,
      actual_version: u8,
      upgrade_payload: maybe(ref(record(null, { signature: bits512, payload: upgrade }))),
      msg: maybe(ref(relaxedMessage)),
    }),
  ),
};

const logType = union(
  'StormLogType',
  variant('increase', 8, 0, {}),
  variant('close', 8, 1, {}),
  variant('add_margin', 8, 2, {}),
  variant('remove_margin', 8, 3, {}),
);

const intentLog = record(null, {
  type: logType,
  size: i128,
  margin: coins,
  open_notional: coins,
  last_updated_cpf: i64,
  realized_pnl: i64,
  funding_payment: i64,
  rollover_fee: u64,
  position_fee_rate: u32,
  executor_fee_rate: u32,
  position_fee_amount: coins,
  executor_fee_amount: coins,
  fee_to_stakers_percent: u32,
});

const notification = ref(
  record(null, {
    bundle_sender_address: address,
    balance_delta: coins,
    amm_address: internalAddress,
    direction,
    position_data: maybe(ref(position)),
  }),
);

const bundles = [
  body('storm_take_position_v2', 0x1bea50f1, {
    query_id: u64,
    bundle_sender_address: address,
    amm_address: internalAddress,
    direction,
    spent_amount: coins,
    addresses: ref(
      record(null, {
        trader_address: internalAddress,
        smart_account_factory_address: internalAddress,
        vault_address: address,
      }),
    ),
    ref_count: countedReferral,
    position: ref(position),
    intent: ref(intent),
  }),
  body('storm_execute_orders_bundle', 0x04c52fd2, bundle),
  body('storm_execute_orders_bundle', 0x5f40f1ec, bundle),
  body('logs', 0x012e8f40, { log_dict: dictionary(8, intentLog) }),
  body('storm_trade_notification_v2', 0x28d36491, {
    query_id: u64,
    asset_id: u16,
    free_amount: i64,
    locked_amount: i64,
    exchange_amount: i64,
    withdraw_locked_amount: u64,
    fee_to_stakers: u64,
    executor_amount: u64,
    total_referrer_amount: u64,
    ref_count: uint(4),
    referral_data: dictionary(4, referrer),
    sa_address: internalAddress,
    notification_payload: notification,
  }),
  body('storm_notify_update_position', 0x1ca43d2f, {
    query_id: u64,
    jetton_minter_address: internalAddress,
    notification_payload: notification,
  }),
  body('storm_referral_fees', 0x4fedc82b, {
    query_id: u64,
    referral_sa_address: internalAddress,
    amount: coins,
    jetton_minter_address: internalAddress,
    notification_payload: notification,
  }),
  body('storm_failed_bundle_execution', 0x666392ee, {
    query_id: u64,
    asset_id: u16,
    error_code: u16,
    spent_amount: coins,
    sa_address: internalAddress,
    amm_address: internalAddress,
    direction,
    bundle_sender_address: address,
    intent: ref(intent),
  }),
  body('storm_fail_notification', 0x367f2743, {
    query_id: u64,
    spent_amount: coins,
    jetton_minter_address: internalAddress,
    amm_address: internalAddress,
    direction,
    bundle_sender_address: address,
    intent: ref(intent),
  }),
];

const selfDeposit = {
  external_query_id: executorQueryId,
  created_at: u32,
  sa_address: internalAddress,
  query_id: u64,
  amount: coins,
  vault_address: internalAddress,
};

const administration = [
  body('storm_change_hot_key', 0x34d2e9f9, {
    query_id: u64,
    signature: bits512,
    signed_payload: ref(
      record(null, {
        query_id: executorQueryId,
        created_at: u32,
        sa_address: internalAddress,
        new_hot_key: u256,
      }),
    ),
  }),
  body('storm_change_cold_key_factory', 0x0b9d20cc, { query_id: u64, new_cold_key: u256 }),
  body('storm_change_hot_key_factory', 0x1bd24ca6, { query_id: u64, new_hot_key: u256 }),
  body('storm_change_cold_key_request', 0x7a0bda1c, { query_id: u64, sa_address: internalAddress }),
  body('storm_change_cold_key', 0x70246da6, { query_id: u64, response_destination: address, new_cold_key: u256 }),
  body('storm_update_sa_ordinary_code', 0x0c6ca95e, { query_id: u64, version: u8, new_code: cell }),
  body('storm_self_deposit_native', 0x558e804a, {
    query_id: u64,
    signature: bits512,
    signed_payload: ref(record(null, selfDeposit)),
  }),
  body('storm_self_deposit_jetton', 0x01d81ebc, {
    query_id: u64,
    signature: bits512,
    signed_payload: ref(
      record(null, {
        ...selfDeposit,
        wallet: unnamed(ref(record(null, { jetton_wallet_address: internalAddress }))),
      }),
    ),
  }),
  body('storm_change_factory_content', 0x13559d58, { query_id: u64, new_content: cell }),
  body('storm_change_factory_code', 0x179d61f9, { query_id: u64, new_code: cell }),
  body('storm_change_v3_state', 0x3e56c929, query),
];

export const stormBodies = [...positions, ...accounts, ...bundles, ...administration];
