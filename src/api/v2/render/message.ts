/** Messages as v2 shows them: `ext.message` with addresses as text, `raw.message` with addresses as objects. */
import { ENCRYPTED_COMMENT, TEXT_COMMENT } from '../../../chain/actions/comment.ts';
import { type Cell, parseBoc, Slice } from '../../../chain/builder.ts';
import type { Message } from '../../../chain/model.ts';
import { accountAddress, addressText, base64, extraCurrencies, signed64 } from './values.ts';

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `ext.message`: `message` is the text of a comment, else the body's own bytes in base64 and a line's end. */
export function extMessage(message: Message) {
  const boc = message.bodyBoc();
  const body = parseBoc(boc);
  const text = snakeOf(message, body);
  return {
    '@type': 'ext.message',
    ...common(message),
    source: addressText(message.source),
    destination: addressText(message.destination),
    msg_data: messageData(message, boc, text),
    ...(message.opcode === ENCRYPTED_COMMENT && text !== null ? {} : { message: messageText(text, body) }),
  };
}

/** `raw.message`. */
export function rawMessage(message: Message) {
  const boc = message.bodyBoc();
  const text = snakeOf(message, parseBoc(boc));
  return {
    '@type': 'raw.message',
    ...common(message),
    source: accountAddress(message.source),
    destination: accountAddress(message.destination),
    msg_data: messageData(message, boc, text),
  };
}

function common(message: Message) {
  const { hash, bodyHash, createdLt } = message;
  return {
    hash: base64(hash),
    value: message.value ?? '0',
    extra_currencies: extraCurrencies(message.extraCurrencies),
    fwd_fee: message.fwdFee ?? '0',
    // The field has carried flags for long, and recent nodes' libraries show no number for it.
    ihr_fee: '0',
    created_lt: message.kind === 'external_in' || createdLt === null ? '0' : signed64(createdLt),
    body_hash: base64(bodyHash),
  };
}

/** The bytes of a comment or an encrypted one behind its opcode; null for every other body. */
function snakeOf({ opcode }: Message, body: Cell): Buffer | null {
  return opcode === TEXT_COMMENT || opcode === ENCRYPTED_COMMENT ? snakeBytes(body) : null;
}

/** Bits behind the first 32, going on in the first reference of each cell; null when they are no whole bytes. */
function snakeBytes(body: Cell): Buffer | null {
  const parts: Buffer[] = [];
  let [pending, pendingBits] = [0, 0];
  for (let cell: Cell | undefined = body; cell !== undefined; cell = cell.refs[0]) {
    if (cell.exotic) return null;
    const slice = new Slice(cell);
    if (cell === body) slice.skip(32);
    if (pendingBits === 0 && slice.bitsLeft % 8 === 0) {
      parts.push(slice.bytes(slice.bitsLeft / 8));
      continue;
    }
    while (slice.bitsLeft > 0) {
      const bits = Math.min(8 - pendingBits, slice.bitsLeft);
      pending = (pending << bits) | slice.u(bits);
      pendingBits += bits;
      if (pendingBits < 8) continue;
      parts.push(Buffer.of(pending));
      [pending, pendingBits] = [0, 0];
    }
  }
  return pendingBits === 0 ? Buffer.concat(parts) : null;
}

function messageData(message: Message, body: Buffer, text: Buffer | null) {
  if (text === null) {
    const { init } = message;
    return {
      '@type': 'msg.dataRaw',
      body: base64(body),
      init_state: init === null ? '' : base64(init.boc()),
    };
  }
  const type = message.opcode === TEXT_COMMENT ? 'msg.dataText' : 'msg.dataEncryptedText';
  return { '@type': type, text: base64(text) };
}

function messageText(text: Buffer | null, body: Cell): string {
  if (text !== null) return utf8(text);
  if (body.bits === 0) return '';
  const bytes = Buffer.from(body.data);
  // The bit that marks the end of an incomplete byte is no data.
  if (body.bits % 8 !== 0) bytes[bytes.length - 1] &= ~(0x80 >> (body.bits % 8));
  return `${base64(bytes)}\n`;
}

/** Empty for what is not UTF-8. */
function utf8(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}
