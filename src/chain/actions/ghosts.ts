import { rawAddress } from '../address.ts';
import type { Boc } from '../boc.ts';
import { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { CellView } from '../layouts/cell-view.ts';
import { outActions } from '../layouts/messages.ts';
import { w5ExternalSignedRequest } from '../layouts/wallets.ts';
import { decodeMessage } from '../message.ts';
import type { Message } from '../model.ts';
import { type TraceMessage, TraceNode } from './trace.ts';

/** The out list of a transaction holds no more. */
const MAX_ACTIONS = 255;

/** What a wallet was asked to send; null for what goes to no contract or comes from none. */
type Asked = TraceMessage | null;

/** What actions read of a decoded message. Text forms and cells are made when they are asked for. */
function traceMessage(message: Message): TraceMessage {
  const { source, destination, extraCurrencies, createdLt, createdAt, value, opcode, bounce } = message;
  return {
    hash: message.hash.toString('base64'),
    source: source === null ? null : rawAddress(source),
    destination: destination === null ? null : rawAddress(destination),
    value,
    extraCurrencies: extraCurrencies ?? {},
    createdLt,
    createdAt,
    opcode,
    bounce,
    body: () => CellView.parse(message.bodyBoc()),
    init: () => (message.init === null ? null : CellView.parse(message.init.boc())),
  };
}

/**
 * The messages that an external message asked a wallet (v3, v4, v5r1) to send, when the wallet took the message in
 * and sent nothing: one node each, with the root's transaction.
 * @returns nothing when the body is of no such wallet
 */
export function ghostNodes(root: TraceNode): TraceNode[] {
  const { message, transaction } = root;
  if (message === null) return [];
  // A body of v5 is told by its tag; one of another wallet may begin with anything.
  for (const read of [walletV5Messages, simpleWalletMessages]) {
    try {
      return read(message.body().cursor()).flatMap((asked, index) => {
        if (asked === null) return [];
        const hash = Buffer.from(`${asked.hash}${index}`, 'latin1').toString('base64');
        const ghost = { ...asked, hash, source: transaction.account, createdLt: null, createdAt: null };
        return new TraceNode(ghost, transaction, root, 'ghost');
      });
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return [];
}

/**
 * v3: signature, subwallet, valid until, seqno, then a message in each reference. v4 bodies read the same, and v2 ones of
 * four messages, whose modes stand where the third number is looked for. Others of v2 and v1 are too short.
 */
function simpleWalletMessages(body: Cursor): Asked[] {
  body.skip(512 + 3 * 32);
  return Array.from({ length: body.refsLeft }, () => readMessage(body.boc, body.nextRef()));
}

/** v5r1: the list of actions is read from the last one inwards; what is no sending is passed over. */
function walletV5Messages(body: Cursor): Asked[] {
  body.tag(32, w5ExternalSignedRequest.opcode, 'signed_external');
  body.skip(3 * 32);
  const messages: Asked[] = [];
  const first = body.maybeRef();
  let list = first < 0 ? null : new Cursor(body.boc, first);
  for (let actions = 0; list !== null && list.refsLeft > 0; actions++) {
    if (actions === MAX_ACTIONS) throw new DecodeError('more actions than a transaction has');
    const before = list.open();
    if (list.u(32) === outActions.send.tag) {
      list.skip(8);
      messages.push(readMessage(list.boc, list.nextRef()));
    }
    list = before;
  }
  return messages;
}

function readMessage(boc: Boc, cell: number): Asked {
  return new Cursor(boc, cell).bit() ? null : traceMessage(decodeMessage(boc, cell));
}
