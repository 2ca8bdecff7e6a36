/** Cocoon, a market for computing: workers, proxies and clients. */

import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { address } from '../layouts/addresses.ts';
import {
  cocoonChargePayload,
  cocoonClientChangeSecret,
  cocoonClientIncreaseStake,
  cocoonClientRegister,
  cocoonClientRequest,
  cocoonClientRequestRefund,
  cocoonClientTopUp,
  cocoonClientWithdraw,
  cocoonGrantRefundPayload,
  cocoonLastPayoutPayload,
  cocoonPayout,
  cocoonPayoutPayload,
  cocoonProxyPayoutRequest,
  cocoonRefundGranted,
  cocoonRegisterProxy,
  cocoonReturnExcesses,
  cocoonUnregisterProxy,
  cocoonWorkerRequest,
} from '../layouts/cocoon.ts';
import { body, type Layout } from '../layouts/layout.ts';
import { coins, u64 } from '../layouts/numbers.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, destinationOf, messageOf, numberHex, readBody, sentValue, tryBody } from './bodies.ts';
import type { Details } from './details.ts';
import { declare, type Group } from './kind.ts';
import type { Match, Pattern } from './pattern.ts';
import type { RawAddress } from './trace.ts';

const groups: readonly Group[] = ['v4', 'cocoon'];
/** Of a wallet that asks for its owner. */
const WALLET_REQUEST = 0x9c69f376;

const payout: Pattern = { op: cocoonPayout.opcode, as: 'payout' };
const request: Pattern = { op: cocoonClientRequest.opcode, as: 'request' };
const returned: Pattern = { op: cocoonReturnExcesses.opcode };

/** The receiving transaction's own flag decides: a call without value fails like any other here. */
const aborted = (block: Block): boolean => block.node.transaction.aborted;

/** Up to the address of who is expected, which is read apart: that may be an external one. */
const newTokens = (layout: Layout) => body(layout.name, layout.opcode, { query_id: u64, new_tokens: u64 });
const regular = newTokens(cocoonPayoutPayload);
const last = newTokens(cocoonLastPayoutPayload);

interface WorkerPayout {
  isLast: boolean;
  queryId: Decimal;
  newTokens: Decimal;
  state: number;
  tokens: Decimal;
  source: RawAddress | null;
  worker: RawAddress;
  destination: RawAddress | null;
  amount: Decimal;
}

const workerPayout = declare<WorkerPayout>({
  block: 'cocoon_worker_payout',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 81,
      pattern: {
        op: [regular.opcode, last.opcode],
        child: { op: cocoonWorkerRequest.opcode, as: 'worker', children: [payout, { ...returned, optional: true }] },
      },
      read(found) {
        const { head } = found;
        const worker = found.first('worker');
        const paid = found.first('payout');
        if (worker === null || paid === null) return null;
        const isLast = head.opcode === last.opcode;
        const cursor = messageOf(head).body().cursor();
        const asked = (isLast ? last : regular).read(cursor);
        // Not told, but a body without it is none.
        expectedText(cursor);
        const { owner_address: owner, state, tokens } = readBody(worker, cocoonWorkerRequest);
        return {
          data: {
            isLast,
            queryId: asked.query_id,
            newTokens: asked.new_tokens,
            state,
            tokens,
            source: messageOf(head).source,
            worker: destinationOf(head),
            destination: addressText(owner),
            amount: sentValue(paid),
          },
          failed: aborted(paid),
        };
      },
    },
  ],
  details: (told) => ({
    payout_type: told.isLast ? 'last' : 'regular',
    query_id: told.queryId,
    new_tokens: told.newTokens,
    worker_state: told.state,
    worker_tokens: told.tokens,
    source: told.source,
    destination: told.destination,
    amount: told.amount,
  }),
  accounts: ({ source, worker, destination }) => ({ source, source2: worker, destination }),
});

interface ProxyPayout {
  queryId: Decimal;
  source: RawAddress;
  destination: RawAddress;
  excesses: RawAddress | null;
}

const proxyPayout = declare<ProxyPayout>({
  block: 'cocoon_proxy_payout',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 82,
      pattern: { op: cocoonProxyPayoutRequest.opcode, children: [payout, returned] },
      read(found) {
        const paid = found.first('payout');
        if (paid === null) return null;
        const { query_id, send_excesses_to } = readBody(found.head, cocoonProxyPayoutRequest);
        return {
          data: {
            queryId: query_id,
            source: destinationOf(found.head),
            destination: destinationOf(paid),
            excesses: addressText(send_excesses_to),
          },
          failed: aborted(paid),
        };
      },
    },
  ],
  details: ({ queryId, source, destination }) => ({ query_id: queryId, source, destination }),
  accounts: ({ source, destination, excesses }) => ({ source, destination, destination2: excesses }),
});

/** As above: an external address that follows is told. */
const tokensUsed = (layout: Layout) => body(layout.name, layout.opcode, { query_id: u64, new_tokens_used: u64 });
const charge = tokensUsed(cocoonChargePayload);
const grantRefund = tokensUsed(cocoonGrantRefundPayload);

interface TokensUsed {
  queryId: Decimal;
  newTokensUsed: Decimal;
  expected: string | null;
}

function readTokensUsed(block: Block, layout: typeof charge): TokensUsed {
  const cursor = messageOf(block).body().cursor();
  const { query_id, new_tokens_used } = layout.read(cursor);
  return { queryId: query_id, newTokensUsed: new_tokens_used, expected: expectedText(cursor) };
}

const EXTERNAL = 1;

/** An external address is told by its length and its bits. */
function expectedText(cursor: Cursor): string | null {
  const { at } = cursor;
  if (cursor.u(2) === EXTERNAL) {
    const length = cursor.u(9);
    return `${length};${numberHex(cursor, length)}`;
  }
  cursor.at = at;
  return addressText(address.read(cursor));
}

const proxyCharge = declare<TokensUsed & { source: RawAddress; destination: RawAddress }>({
  block: 'cocoon_proxy_charge',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 83,
      pattern: { op: charge.opcode, children: [returned, request] },
      read(found) {
        const asked = found.first('request');
        if (asked === null) return null;
        return {
          data: {
            ...readTokensUsed(found.head, charge),
            source: destinationOf(found.head),
            destination: destinationOf(asked),
          },
          failed: aborted(found.head),
        };
      },
    },
  ],
  details: ({ queryId, newTokensUsed, expected, source, destination }) => ({
    query_id: queryId,
    new_tokens_used: newTokensUsed,
    expected_address: expected,
    source,
    destination,
  }),
  accounts: ({ source, destination }) => ({ source, destination }),
});

const refundGranted = declare<
  TokensUsed & { source: RawAddress; proxy: RawAddress; destination: RawAddress; amount: Decimal }
>({
  block: 'cocoon_grant_refund',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 90,
      pattern: { op: grantRefund.opcode, child: { ...request, children: [payout, returned] } },
      read(found) {
        const asked = found.first('request');
        const paid = found.first('payout');
        if (asked === null || paid === null) return null;
        return {
          data: {
            ...readTokensUsed(found.head, grantRefund),
            source: destinationOf(found.head),
            proxy: destinationOf(asked),
            destination: destinationOf(paid),
            amount: sentValue(paid),
          },
          failed: aborted(paid),
        };
      },
    },
  ],
  details: ({ queryId, newTokensUsed, expected, source, destination, amount }) => ({
    query_id: queryId,
    new_tokens_used: newTokensUsed,
    expected_address: expected,
    source,
    destination,
    amount,
  }),
  accounts: ({ source, proxy, destination }) => ({ source, source2: proxy, destination }),
});

/** A call of a client's contract, or of the root, whose answer returns what was too much. */
interface Call {
  queryId: Decimal;
  source: RawAddress | null;
  destination: RawAddress;
  /** Who was asked on the way. */
  proxy: RawAddress | null;
  amount: Decimal | null;
  details: Details;
}

interface CallOf {
  block: string;
  rank: number;
  pattern: Pattern;
  read(found: Match): Pick<Call, 'queryId' | 'details'> & Partial<Call>;
  print(call: Call): Details;
}

function declareCall({ block, rank, pattern, read, print }: CallOf) {
  return declare<Call>({
    block,
    groups,
    leaf: false,
    matchers: [
      {
        rank,
        pattern,
        read(found) {
          const call = { source: null, proxy: null, amount: null, destination: destinationOf(found.head) };
          return { data: { ...call, ...read(found) }, failed: aborted(found.head) };
        },
      },
    ],
    details: print,
    accounts: ({ source, destination, proxy }) => ({ source, destination, destination2: proxy }),
  });
}

const printClient = ({ queryId, details, source, destination, amount }: Call): Details => ({
  query_id: queryId,
  ...details,
  source,
  destination,
  ...(amount === null ? {} : { amount }),
});

const printRoot = ({ queryId, details, destination }: Call): Details => ({
  query_id: queryId,
  ...details,
  destination,
});

/** What a client's owner asks for is answered and passed on. */
const passedOn = [returned, request];

const clientTopUp = declareCall({
  block: 'cocoon_client_top_up',
  rank: 84,
  pattern: { op: cocoonClientTopUp.opcode, child: { ...request, children: [returned] } },
  read(found) {
    const asked = found.first('request');
    const { query_id, top_up_amount, send_excesses_to } = readBody(found.head, cocoonClientTopUp);
    return {
      queryId: query_id,
      details: {},
      source: addressText(send_excesses_to),
      proxy: asked === null ? null : destinationOf(asked),
      amount: top_up_amount,
    };
  },
  print: printClient,
});

const registerProxy = declareCall({
  block: 'cocoon_register_proxy',
  rank: 85,
  pattern: { op: cocoonRegisterProxy.opcode, child: returned },
  read: ({ head }) => ({ queryId: readBody(head, cocoonRegisterProxy).query_id, details: {} }),
  print: printRoot,
});

const unregisterProxy = declareCall({
  block: 'cocoon_unregister_proxy',
  rank: 86,
  pattern: { op: cocoonUnregisterProxy.opcode, child: returned },
  read({ head }) {
    const { query_id, seqno } = readBody(head, cocoonUnregisterProxy);
    return { queryId: query_id, details: { seqno } };
  },
  print: printRoot,
});

const clientRegister = declareCall({
  block: 'cocoon_client_register',
  rank: 87,
  pattern: { op: cocoonClientRegister.opcode, children: passedOn },
  read({ head }) {
    const { query_id, nonce, send_excesses_to } = readBody(head, cocoonClientRegister);
    return { queryId: query_id, details: { nonce }, source: addressText(send_excesses_to) };
  },
  print: printClient,
});

const clientChangeSecret = declareCall({
  block: 'cocoon_client_change_secret_hash',
  rank: 88,
  pattern: { op: cocoonClientChangeSecret.opcode, children: passedOn },
  read({ head }) {
    const { query_id, new_secret_hash, send_excesses_to } = readBody(head, cocoonClientChangeSecret);
    const hash = BigInt(new_secret_hash).toString(16);
    return { queryId: query_id, details: { new_secret_hash: hash }, source: addressText(send_excesses_to) };
  },
  print: printClient,
});

const clientRequestRefund = declareCall({
  block: 'cocoon_client_request_refund',
  rank: 89,
  pattern: {
    op: cocoonClientRequestRefund.opcode,
    children: passedOn,
    parent: { op: WALLET_REQUEST, as: 'wallet', optional: true },
  },
  read(found) {
    const { query_id, send_excesses_to } = readBody(found.head, cocoonClientRequestRefund);
    const viaWallet = found.first('wallet') !== null;
    return { queryId: query_id, details: { via_wallet: viaWallet }, source: addressText(send_excesses_to) };
  },
  print: printClient,
});

const clientIncreaseStake = declareCall({
  block: 'cocoon_client_increase_stake',
  rank: 91,
  pattern: { op: cocoonClientIncreaseStake.opcode, children: passedOn },
  read({ head }) {
    const { query_id, new_stake, send_excesses_to } = readBody(head, cocoonClientIncreaseStake);
    const source = addressText(send_excesses_to);
    return { queryId: query_id, details: { new_stake }, source, amount: new_stake };
  },
  print: printClient,
});

/** The coins alone: where what is left goes is not told. */
const granted = body('cocoon_client_proxy_refund_granted', cocoonRefundGranted.opcode, { coins });

const clientWithdraw = declareCall({
  block: 'cocoon_client_withdraw',
  rank: 92,
  pattern: {
    op: cocoonClientWithdraw.opcode,
    child: { ...request, children: [payout, { ...returned, optional: true }] },
  },
  read(found) {
    const asked = found.first('request');
    const { query_id, send_excesses_to } = readBody(found.head, cocoonClientWithdraw);
    const amount = asked === null ? '0' : withdrawn(asked);
    return {
      queryId: query_id,
      details: { withdraw_amount: amount },
      source: addressText(send_excesses_to),
      amount,
    };
  },
  print: printClient,
});

/** Nothing where it cannot be read. */
function withdrawn(asked: Block): Decimal {
  const payload = tryBody(asked, cocoonClientRequest)?.payload ?? null;
  if (payload?.opcode !== granted.opcode) return '0';
  try {
    return granted.read(payload.cursor()).coins;
  } catch (error) {
    if (error instanceof DecodeError) return '0';
    throw error;
  }
}

export const kinds = [
  workerPayout,
  proxyPayout,
  proxyCharge,
  clientTopUp,
  registerProxy,
  unregisterProxy,
  clientRegister,
  clientChangeSecret,
  clientRequestRefund,
  refundGranted,
  clientIncreaseStake,
  clientWithdraw,
];
