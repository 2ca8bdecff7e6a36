/** Subscriptions paid by wallet v4 plugins. */
import { body } from '../layouts/layout.ts';
import { coins, u64 } from '../layouts/numbers.ts';
import { subscriptionPayment } from '../layouts/services.ts';
import { paymentConfirmed, paymentRequest, pluginDestruct } from '../layouts/wallets.ts';
import type { Decimal } from '../model.ts';
import { destinationOf, messageOf, readBody, sentValue } from './bodies.ts';
import { declare, given } from './kind.ts';
import type { RawAddress } from './trace.ts';

/** Only the coins: what may follow them is not told. */
const request = body('payment_request', paymentRequest.opcode, { query_id: u64, amount: coins });

interface Subscription {
  subscriber: RawAddress | null;
  beneficiary: RawAddress | null;
  subscription: RawAddress;
}

const accountsOf = ({ subscriber, beneficiary, subscription }: Subscription) => ({
  source: subscriber,
  destination: beneficiary,
  destination2: subscription,
});

export const subscribe = declare<Subscription & { amount: Decimal }>({
  block: 'subscribe',
  groups: ['v1'],
  leaf: true,
  matchers: [
    {
      rank: 36,
      pattern: {
        op: paymentConfirmed.opcode,
        child: { op: subscriptionPayment.opcode, as: 'payment' },
        parent: { op: request.opcode, as: 'request', optional: true },
      },
      read(found) {
        const { head } = found;
        const payment = found.first('payment');
        const asked = found.first('request');
        return {
          data: {
            subscriber: messageOf(head).source,
            beneficiary: payment === null ? null : destinationOf(payment),
            subscription: destinationOf(head),
            amount: asked === null ? sentValue(head) : readBody(asked, request).amount,
          },
          failed: asked?.failed ?? false,
        };
      },
    },
  ],
  details: ({ subscriber, beneficiary, subscription, amount }) => ({
    subscriber,
    beneficiary: given(beneficiary),
    subscription,
    amount,
  }),
  accounts: accountsOf,
});

export const unsubscribe = declare<Subscription>({
  block: 'unsubscribe',
  groups: ['v1'],
  leaf: true,
  matchers: [
    {
      rank: 37,
      pattern: {
        op: pluginDestruct.opcode,
        child: { op: pluginDestruct.opcode, as: 'notice', optional: true },
      },
      read(found) {
        const notice = found.first('notice');
        return {
          data: {
            subscriber: messageOf(found.head).source,
            beneficiary: notice === null ? null : destinationOf(notice),
            subscription: destinationOf(found.head),
          },
        };
      },
    },
  ],
  details: ({ subscriber, beneficiary, subscription }) => ({
    subscriber,
    beneficiary: given(beneficiary),
    subscription,
  }),
  accounts: accountsOf,
});

export const kinds = [subscribe, unsubscribe];
