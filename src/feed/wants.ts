/** What those who are told of a step want to know of it. */
import type { EventType, Subscription } from './protocol.ts';
import type { Part, Wants } from './step.ts';

const PART_OF: Readonly<Partial<Record<EventType, Part>>> = {
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

export function wantsOf(lines: Iterable<{ readonly subscription: Subscription }>): Wants {
  const parts = new Set<Part>();
  const traces = new Set<string>();
  const wants = { parts, traces, addressBook: false, metadata: false };
  for (const { subscription } of lines) {
    for (const type of subscription.types) {
      const part = PART_OF[type];
      if (part !== undefined) parts.add(part);
    }
    for (const hash of subscription.traceHashes) traces.add(hash);
    wants.addressBook ||= subscription.addressBook;
    wants.metadata ||= subscription.metadata;
  }
  return wants;
}
