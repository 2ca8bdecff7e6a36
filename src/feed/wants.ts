/** What those who are told of a step want to know of it. */

import type { Part, Wants } from './step.ts';
import type { EventType, Subscription } from './subscription.ts';

/** Null for what is told out of the transactions alone, or because of its trace. */
const PART_OF: Readonly<Record<EventType, Part | null>> = {
  transactions: null,
  pending_transactions: null,
  trace: null,
  pending_actions: null,
  account_state_change: 'states',
  block: 'blocks',
  message: 'messages',
  external_out: 'messages',
  jettons_change: 'wallets',
  jetton_transfer: 'jettonTransfers',
  nft_transfer: 'nftTransfers',
  trace_transactions: 'groups',
  actions: 'actions',
};

/** @param traces of all lines; only looked up here: there may be a great many */
export function wantsOf(lines: Iterable<{ readonly subscription: Subscription }>, traces: Wants['traces']): Wants {
  const parts = new Set<Part>();
  const wants = { parts, traces, addressBook: false, metadata: false };
  for (const { subscription } of lines) {
    for (const type of subscription.types) {
      const part = PART_OF[type];
      if (part !== null) parts.add(part);
    }
    wants.addressBook ||= subscription.addressBook;
    wants.metadata ||= subscription.metadata;
  }
  return wants;
}
