import {
  dedustPools,
  multisigOrders,
  multisigWallets,
  nominatorPools,
  vestingContracts,
} from '../../../clickhouse/tables/services.ts';
import { addressOf, parseAddress } from '../../../src/chain/address.ts';
import { type Cell, Slice, toBoc } from '../../../src/chain/builder.ts';
import type { Address } from '../../../src/chain/model.ts';
import { answersOf, kind } from './kinds.ts';
import { addressIn, entries, intArgument, OtherKind, reading, sameAddress } from './stack.ts';

/** Addresses by 8-bit keys, ascending. */
const addressesIn = (root: Cell | null): Address[] => entries(root, 8, (leaf) => addressIn(leaf));

export const multisigWallet = kind(
  'multisig_wallet',
  multisigWallets,
  { methods: ['get_multisig_data'] },
  async (subject, ask) => {
    const results = await ask.call(subject, 'get_multisig_data');
    return {
      nextOrderSeqno: results.int(0),
      threshold: results.u32(1),
      signers: addressesIn(results.cellOrNull(2)),
      proposers: addressesIn(results.cellOrNull(3)),
    };
  },
);

/** An order that its multisig confirms. */
export const multisigOrder = kind(
  'multisig_order',
  multisigOrders,
  { methods: ['get_order_data'] },
  async (subject, ask) => {
    const results = await ask.call(subject, 'get_order_data');
    const multisigAddress = results.address(0);
    const seqno = results.big(1);
    const multisig = await ask.contract(multisigAddress, 'get_order_address');
    const answer = await ask.call(multisig, 'get_order_address', [intArgument(seqno)]);
    if (!sameAddress(answer.address(0), subject.account)) throw new OtherKind('its multisig has another order');
    return {
      multisigAddress,
      orderSeqno: results.uint(1, 256),
      threshold: results.u32(2),
      sentForExecution: results.flag(3),
      signers: addressesIn(results.cell(4)),
      approvalsMask: results.uint(5, 256),
      approvalsNum: results.u32(6),
      expirationDate: results.uint(7, 64),
      orderBoc: toBoc(results.cell(8), { crc: false }),
    };
  },
);

/**
 * Told by its code, for others tell of vesting in their own ways: ton-blockchain/vesting-contract, and the devnet's
 * own.
 */
const VESTING_CODES = [
  'B48B531ABEC3B714638291F7D77ED6DC9F6A2729EFCA20477137374D4AE8B590',
  'C5FC994EF5AD7B4CB20BDDACA952F4E73BB3846FC1FABC834350A0700ECA3864',
];

/** One with an empty whitelist too. */
export const vestingContract = kind('vesting', vestingContracts, { codes: VESTING_CODES }, async (subject, ask) => {
  const results = await ask.call(subject, 'get_vesting_data');
  return {
    startTime: results.uint(0, 64),
    totalDuration: results.u32(1),
    unlockPeriod: results.u32(2),
    cliffDuration: results.u32(3),
    totalAmount: results.int(4),
    senderAddress: results.address(5),
    ownerAddress: results.address(6),
    whitelist: entries(results.cellOrNull(7), 264, (_, key) => addressOf(key.readInt8(0), key.subarray(1))).sort(
      (a, b) => a.compare(b),
    ),
  };
});

const DEDUST_POOLS = [
  '1275095B6DA3911292406F4F4386F9E780099B854C6DEE9EE2895DDCE70927C1',
  '778F0D3FE6482C50888970DF5E787F40F3A4AB282170C035A5920877058C99D3',
  'C0F9D14FBC8E14F0D72CBA2214165EEE35836AB174130912BAF9DBFA43EAD562',
];
const DEDUST_FACTORY = parseAddress('0:5F0564FB5F604783DB57031CE1CF668A88D4D4D6DA6DE4DB222B4B920D6FD800');

/** A pool that the factory confirms. */
export const dedustPool = kind('dedust_pool', dedustPools, { codes: DEDUST_POOLS }, async (subject, ask) => {
  if (DEDUST_FACTORY === null) throw new Error('the factory has an address');
  const [assets, stable, reserves, fee] = await answersOf([
    ask.call(subject, 'get_assets'),
    ask.call(subject, 'is_stable'),
    ask.call(subject, 'get_reserves'),
    ask.call(subject, 'get_trade_fee'),
  ]);
  const isStable = stable.flag(0);
  const factory = await ask.contract(DEDUST_FACTORY, 'get_pool_address');
  const answer = await ask.call(factory, 'get_pool_address', [
    intArgument(isStable ? 1n : 0n),
    { type: 'slice', cell: assets.slice(0) },
    { type: 'slice', cell: assets.slice(1) },
  ]);
  if (!sameAddress(answer.address(0), subject.account)) throw new OtherKind('its factory has another pool');
  return {
    asset0: assetIn(assets.slice(0)),
    asset1: assetIn(assets.slice(1)),
    isStable,
    reserve0: reserves.int(0),
    reserve1: reserves.int(1),
    fee: fee.int(0),
  };
});

/** `native$0000`, `jetton$0001 workchain_id:int8 address:uint256`: the master, or null for TON. */
function assetIn(cell: Cell): Address | null {
  return reading(() => {
    const slice = new Slice(cell);
    const type = slice.u(4);
    if (type === 0) return null;
    if (type !== 1) throw new OtherKind('an asset of another kind');
    return addressOf(slice.i(8), slice.bytes(32));
  });
}

/** The contract of ton-blockchain/nominator-pool, told by its code alone. */
const NOMINATOR_POOLS = ['9A3EC14BC098F6B44064C305222CAEA2800F17DDA85EE6A8198A7095EDE10DCF'];

export const nominatorPool = kind('nominator_pool', nominatorPools, { codes: NOMINATOR_POOLS }, async () => ({}));
