/** Payment channels (ton-blockchain/payment-channels). */
import { dictionary } from './dictionaries.ts';
import { body } from './layout.ts';
import { bits512, bool, coins, u32, u64, u128 } from './numbers.ts';
import { maybe, record, ref, rest, tagged } from './shapes.ts';

const payment = record('cp', { amount: coins, condition: rest });
const channelBody = record('sc_body', { seqno: u64, sent: coins, conditionals: dictionary(32, payment) });

const semiChannel = tagged('semichannel_state', 32, 0x43685374, {
  channel_id: u128,
  data: channelBody,
  counterparty_data: maybe(ref(channelBody)),
});

const signedSemiChannel = record('signed_schs', { signature: bits512, state: semiChannel });

const signed = { signature: bits512, tag: u32, channel_id: u128 };
const states = { sch_A: ref(signedSemiChannel), sch_B: ref(signedSemiChannel) };
const signatures = { sig_A: ref(bits512), sig_B: ref(bits512), tag: u32, channel_id: u128 };
const balances = { balance_A: coins, balance_B: coins };
const seqnos = { seqno_A: u64, seqno_B: u64 };

export const channelBodies = [
  body('top_up_channel_balance', 0x67c7d281, { add_A: coins, add_B: coins }),
  body('init_payment_channel', 0x0e0620c2, { is_A: bool, ...signed, ...balances }),
  body('channel_cooperative_close', 0x5577587e, { ...signatures, ...balances, ...seqnos }),
  body('channel_cooperative_commit', 0x79a126ef, { ...signatures, ...seqnos }),
  body('start_uncooperative_channel_close', 0x1f151acf, { signed_by_A: bool, ...signed, ...states }),
  body('challenge_quarantined_channel_state', 0x088eaa32, { challenged_by_A: bool, ...signed, ...states }),
  body('settle_channel_conditionals', 0x66f6f069, {
    from_A: bool,
    ...signed,
    conditionals_to_settle: dictionary(32, rest),
  }),
  body('finish_uncooperative_channel_close', 0x25432a91, { rest }),
  body('channel_closed', 0xdddc88ba, { channel_id: u128 }),
];
