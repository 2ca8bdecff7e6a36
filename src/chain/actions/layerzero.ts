/** LayerZero messages between chains. Objects of its contracts begin with a header that says how they are laid out. */
import type { Cursor } from '../cursor.ts';
import { bits } from '../layouts/numbers.ts';
import type { Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { destinationOf, messageOf, numberHex, sourceOf } from './bodies.ts';
import { type Details, LongNumber } from './details.ts';
import { type JettonTransfer, jettonTransfer } from './jettons.ts';
import { declare, type Group } from './kind.ts';
import type { Match, Pattern } from './pattern.ts';
import { tonTransfer } from './ton.ts';
import type { RawAddress } from './trace.ts';

const groups: readonly Group[] = ['v3', 'layerzero'];
const HEADER_BITS = 350;
const EVENT = 0xe33b9873;
const event: Pattern = { op: EVENT, optional: true };
const coins: Pattern = { block: tonTransfer.block, optional: true };

/** 256 bits as hex without leading zeros. */
const hex256 = (cursor: Cursor): string => `0x${numberHex(cursor, 256)}`;

function object(cursor: Cursor): Cursor {
  cursor.skip(HEADER_BITS);
  return cursor;
}

/** The first references of a body, one below the other. */
function below(block: Block, depth: number): Cursor {
  let cursor = messageOf(block).body().cursor();
  for (let i = 0; i < depth; i++) cursor = cursor.open();
  return cursor;
}

/** A number as JSON has it, with all its digits. */
function exact(digits: Decimal): number | LongNumber {
  const value = Number(digits);
  return Number.isSafeInteger(value) ? value : new LongNumber(digits);
}

const number64 = (cursor: Cursor): number | LongNumber => exact(cursor.dec(64));
const number128 = (cursor: Cursor): number | LongNumber => exact(BigInt(`0x${numberHex(cursor, 128)}`).toString());

interface Packet {
  sourceOapp: string;
  destinationOapp: string;
  details: Details;
}

function readPacket(cursor: Cursor): Packet {
  object(cursor);
  const path = object(cursor.open());
  const message = cursor.open();
  const nonce = number64(cursor);
  const guid = hex256(cursor);
  const sourceEid = path.u(32);
  const sourceOapp = hex256(path);
  const destinationEid = path.u(32);
  const destinationOapp = hex256(path);
  return {
    sourceOapp,
    destinationOapp,
    details: {
      src_oapp: sourceOapp,
      dst_oapp: destinationOapp,
      src_eid: sourceEid,
      dst_eid: destinationEid,
      nonce,
      guid,
      message: `0x${bits(message.bitsLeft).read(message).toString('hex')}`,
    },
  };
}

interface Send {
  initiator: RawAddress | null;
  endpoint: RawAddress;
  send: Details;
  packet: Details;
}

const SENDING: Pattern = {
  op: 0xdd4ea3b4,
  child: {
    op: 0x536feb09,
    as: 'channel',
    child: {
      op: 0x4002b790,
      child: {
        op: 0x5de68393,
        as: 'uln',
        child: {
          op: 0x421c1a25,
          children: [
            { op: EVENT },
            coins,
            coins,
            coins,
            coins,
            coins,
            { op: 0xa2b5fbae, as: 'sent', children: [event, coins] },
          ],
        },
      },
    },
  },
};

function readSend(found: Match): Send | null {
  const { head } = found;
  const uln = found.first('uln');
  const channel = found.first('channel');
  const sent = found.first('sent');
  if (uln === null || channel === null || sent === null) return null;
  const cursor = object(below(sent, 3));
  const requestId = number64(cursor);
  const manager = hex256(cursor);
  const library = hex256(cursor);
  const packet = readPacket(cursor.open());
  cursor.open();
  const fees = cursor.open();
  fees.skip(256);
  const nativeFee = number128(fees);
  const zroFee = number128(fees);
  return {
    initiator: messageOf(head).source,
    endpoint: destinationOf(head),
    send: {
      send_request_id: requestId,
      msglib_manager: manager,
      msglib: library,
      uln: destinationOf(uln),
      native_fee: nativeFee,
      zro_fee: zroFee,
      endpoint: destinationOf(head),
      channel: destinationOf(channel),
    },
    packet: packet.details,
  };
}

const layerzeroSend = declare<Send>({
  block: 'layerzero_send',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 76,
      pattern: SENDING,
      read(found) {
        const data = readSend(found);
        return data === null ? null : { data };
      },
    },
  ],
  details: ({ initiator, send, packet }) => ({
    initiator,
    layerzero_send_data: send,
    layerzero_packet_data: packet,
  }),
  accounts: ({ initiator }) => ({ source: initiator }),
});

const layerzeroSendTokens = declare<{ transfer: JettonTransfer; sent: Send }>({
  block: 'layerzero_send_tokens',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 77,
      pattern: {
        block: layerzeroSend.block,
        parent: { block: jettonTransfer.block, as: 'transfer', child: { op: EVENT } },
      },
      read(found) {
        const transfer = jettonTransfer.of(found.first('transfer'));
        const sent = layerzeroSend.of(found.head);
        return transfer === null || sent === null ? null : { data: { transfer, sent } };
      },
    },
  ],
  details: ({ transfer, sent }) => ({
    sender: transfer.sender,
    sender_wallet: transfer.senderWallet,
    oapp: transfer.receiver,
    oapp_wallet: transfer.receiverWallet,
    asset: transfer.asset,
    amount: transfer.amount,
    layerzero_send_data: sent.send,
    layerzero_packet_data: sent.packet,
  }),
  accounts: ({ transfer }) => ({
    source: transfer.sender,
    source2: transfer.senderWallet,
    destination: transfer.receiver,
    destination2: transfer.receiverWallet,
  }),
});

interface Receive {
  sender: RawAddress | null;
  oapp: RawAddress;
  channel: RawAddress;
  packet: Details;
}

const layerzeroReceive = declare<Receive>({
  block: 'layerzero_receive',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 78,
      pattern: {
        op: 0x22f3ac09,
        children: [
          coins,
          {
            op: 0x97df404c,
            child: {
              op: 0xb7680bc6,
              child: {
                op: 0x0c7b8418,
                as: 'received',
                children: [event, { op: 0xcaae25a1, children: [event, coins] }],
              },
            },
          },
        ],
      },
      read(found) {
        const received = found.first('received');
        if (received === null) return null;
        const oapp = destinationOf(received);
        const packet = readPacket(below(received, 2));
        // The packet must be for who received it: as texts, of which only that of the account has leading zeros.
        if (`0x${oapp.slice(oapp.indexOf(':') + 1).toLowerCase()}` !== packet.destinationOapp) return null;
        const sender = messageOf(found.head).source;
        return { data: { sender, oapp, channel: sourceOf(received), packet: packet.details } };
      },
    },
  ],
  details: ({ sender, oapp, channel, packet }) => ({ sender, oapp, channel, layerzero_packet_data: packet }),
  accounts: ({ sender, oapp, channel }) => ({ source: sender, destination: oapp, destination2: channel }),
});

interface Commit {
  sender: RawAddress | null;
  endpoint: RawAddress;
  connection: RawAddress;
  uln: RawAddress;
  channel: RawAddress;
  libraryConnection: RawAddress;
  packet: Details;
}

const layerzeroCommitPacket = declare<Commit>({
  block: 'layerzero_commit_packet',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 79,
      pattern: {
        op: 0x28b97077,
        child: {
          op: 0xf9d37b80,
          as: 'second',
          child: {
            op: 0x5dab749a,
            as: 'third',
            child: {
              op: 0x5388cd88,
              as: 'fourth',
              children: [event, { op: 0x5e178f33, as: 'fifth', child: coins }],
            },
          },
        },
      },
      read(found) {
        const { head } = found;
        const [second, third, fourth, fifth] = ['second', 'third', 'fourth', 'fifth'].map((name) => found.first(name));
        if (second === null || third === null || fourth === null || fifth === null) return null;
        return {
          data: {
            sender: messageOf(head).source,
            endpoint: destinationOf(third),
            uln: destinationOf(second),
            connection: destinationOf(second),
            libraryConnection: destinationOf(fifth),
            channel: destinationOf(fourth),
            packet: readPacket(below(fourth, 2)).details,
          },
        };
      },
    },
  ],
  details: (told) => ({
    sender: told.sender,
    endpoint: told.endpoint,
    uln: told.uln,
    uln_connection: told.connection,
    channel: told.channel,
    msglib_connection: told.libraryConnection,
    layerzero_packet_data: told.packet,
  }),
  accounts: ({ sender, endpoint, uln, connection }) => ({
    source: sender,
    source2: endpoint,
    destination: uln,
    destination2: connection,
  }),
});

const STATUSES = new Map([
  [0x3bbc306b, 'succeeded'],
  [0x7fcbb4ac, 'nonce_out_of_range'],
  [0x29c53fab, 'dvn_not_configured'],
]);

interface Verify {
  initiator: RawAddress | null;
  nonce: number | LongNumber;
  status: string;
  dvn: RawAddress;
  proxy: RawAddress;
  uln: RawAddress;
  connection: RawAddress;
}

const layerzeroDvnVerify = declare<Verify>({
  block: 'layerzero_dvn_verify',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 80,
      pattern: {
        op: 0xa0d51a8d,
        child: {
          op: 0x09f047d9,
          as: 'proxy',
          child: {
            op: 0x994aaf4e,
            as: 'uln',
            child: {
              op: 0x4ec8f80a,
              as: 'connection',
              children: [event, { op: 0x3cb38090, as: 'told', child: coins }],
            },
          },
        },
      },
      read(found) {
        const { head } = found;
        const [proxy, uln, connection, told] = ['proxy', 'uln', 'connection', 'told'].map((name) => found.first(name));
        if (proxy === null || uln === null || connection === null || told === null) return null;
        const cursor = object(below(told, 2));
        const nonce = number64(cursor);
        const status = cursor.u(32);
        return {
          data: {
            initiator: messageOf(head).source,
            nonce,
            status: STATUSES.get(status) ?? `unknown_${status}`,
            dvn: destinationOf(head),
            proxy: destinationOf(proxy),
            uln: destinationOf(uln),
            connection: destinationOf(connection),
          },
        };
      },
    },
  ],
  details: ({ connection, ...told }) => ({ ...told, uln_connection: connection }),
  accounts: ({ initiator }) => ({ source: initiator }),
});

export const kinds = [layerzeroSend, layerzeroSendTokens, layerzeroReceive, layerzeroCommitPacket, layerzeroDvnVerify];
