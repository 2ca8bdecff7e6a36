/** Vesting wallets (ton-blockchain/vesting-contract). */
import { rawAddress } from '../address.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { addressOrNone } from '../layouts/addresses.ts';
import { body } from '../layouts/layout.ts';
import { relaxedInfo } from '../layouts/messages.ts';
import { u8, u64 } from '../layouts/numbers.ts';
import { cell } from '../layouts/shapes.ts';
import {
  vestingAddWhitelist as addWhitelist,
  vestingSendMessage as sendBody,
  vestingMessageSent,
  vestingWhitelistAdded,
} from '../layouts/vesting.ts';
import type { Decimal } from '../model.ts';
import { addressText, bagText, destinationOf, messageOf, readBody } from './bodies.ts';
import { declare } from './kind.ts';
import type { RawAddress } from './trace.ts';

/** The message in one piece: it is printed as it is. */
const sendMessage = body('vesting_send_message', sendBody.opcode, { query_id: u64, send_mode: u8, message: cell });

interface Send {
  queryId: Decimal;
  message: string;
  source: RawAddress | null;
  vesting: RawAddress;
  destination: RawAddress;
  amount: Decimal;
}

/** The message that is sent stays apart, and so does what came back of the answer. */
export const vestingSendMessage = declare<Send>({
  block: 'vesting_send_message',
  groups: ['v2', 'vesting'],
  leaf: false,
  matchers: [
    {
      rank: 10,
      pattern: { op: sendMessage.opcode, child: { op: vestingMessageSent.opcode, returns: false } },
      read({ head }) {
        const { query_id: queryId, message } = readBody(head, sendMessage);
        const info = relaxedInfo.read(message.cursor());
        if (info.kind !== 'int_msg_info') return null;
        return {
          data: {
            queryId,
            message: bagText(message, { crc: false }),
            source: messageOf(head).source,
            vesting: destinationOf(head),
            destination: rawAddress(info.dest),
            amount: info.value.grams,
          },
        };
      },
    },
  ],
  details: ({ queryId, message, source, vesting, destination, amount }) => ({
    query_id: queryId,
    message_boc: message,
    source,
    vesting,
    destination,
    amount,
  }),
  accounts: ({ source, vesting, destination }) => ({ source, destination: vesting, destination2: destination }),
});

interface AddWhitelist {
  queryId: Decimal;
  added: (RawAddress | null)[];
  source: RawAddress | null;
  vesting: RawAddress;
}

/** A body is no deeper. */
const MAX_ADDRESSES = 512;

/** The addresses, each next one in a reference of the one before; null for one that is none. */
function readAddresses(first: Cursor): (RawAddress | null)[] {
  const addresses = [addressText(addressOrNone.read(first))];
  for (let cursor = first; cursor.refsLeft > 0; ) {
    if (addresses.length === MAX_ADDRESSES) throw new DecodeError('more addresses than a body is deep');
    cursor = cursor.open();
    addresses.push(addressText(addressOrNone.read(cursor)));
  }
  return addresses;
}

export const vestingAddWhitelist = declare<AddWhitelist>({
  block: 'vesting_add_whitelist',
  groups: ['v2', 'vesting'],
  leaf: false,
  matchers: [
    {
      rank: 11,
      pattern: { op: addWhitelist.opcode, child: { op: vestingWhitelistAdded.opcode, returns: false } },
      read({ head }) {
        const { query_id: queryId, addresses_ref_snake } = readBody(head, addWhitelist);
        const added = readAddresses(addresses_ref_snake.cursor());
        return { data: { queryId, added, source: messageOf(head).source, vesting: destinationOf(head) } };
      },
    },
  ],
  details: ({ queryId, added, source, vesting }) => ({
    query_id: queryId,
    // In a list that clients read as addresses nothing stands in for one that is none but its name.
    accounts_added: added.map((one) => one ?? 'addr_none'),
    source,
    vesting,
  }),
  accounts: ({ source, vesting }) => ({ source, destination: vesting }),
});

export const kinds = [vestingSendMessage, vestingAddWhitelist];
