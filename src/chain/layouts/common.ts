/** Bodies that every contract may see: comments, excesses, bounces (TEP-74, the node's bounce phase). */
import { DecodeError } from '../errors.ts';
import type { CellView } from './cell-view.ts';
import type { Codec } from './codec.ts';
import { body } from './layout.ts';
import { currencies } from './messages.ts';
import { coins, int, u8, u32, u64 } from './numbers.ts';
import { cell, maybe, record, ref, rest, unnamed } from './shapes.ts';
import { snakeText } from './texts.ts';

/** A plain text comment: 32 zero bits, then the text. */
export const textComment = body('text_comment', 0x00000000, { text: snakeText });

/** A comment whose text begins in a reference. Tried when {@link textComment} does not fit. */
export const textCommentInReference = body('text_comment', 0x00000000, { text: ref(snakeText) });

/** The text of a plain comment; null for another body and for bytes that are not UTF-8. */
export function commentOf(body: CellView): string | null {
  for (const layout of [textComment, textCommentInReference]) {
    try {
      return layout.in(body)?.text ?? null;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return null;
}

/** Bytes in snake form without a layout. */
const snakeBytes: Codec<{ data: CellView }> = record(null, { data: unnamed(rest) });

/** A comment that only sender and receiver can read; the bytes go on in snake form. */
export const encryptedComment = body('encrypted_text_comment', 0x2167da4b, { cipher_text: snakeBytes });

/** What is left of a payment, sent back. */
export const excess = body('excess', 0xd53276db, { query_id: u64 });

/** The body of a bounced message: the first 256 bits of the original one. */
export const bounce = body('bounce', 0xffffffff, { payload: rest });

/**
 * What a bounced message brings instead where its sender asked for more (global version 12). The decoder has no name for
 * it.
 */
export const richBounce = body('new_bounce_body', 0xfffffffe, {
  original_body: cell,
  original_info: ref(record(null, { value: currencies, created_lt: u64, created_at: u32 })),
  bounced_by_phase: u8,
  exit_code: int(32),
  compute_phase: maybe(record(null, { gas_used: u32, vm_steps: u32 })),
});

const topUp = body('top_up', 0xd372158c, { query_id: u64 });
const credit = body('credit', 0x1690c604, { query_id: u64, amount: coins });
const approve = body('approve', 0x7b4b42e6, { query_id: u64 });
const disapprove = body('disapprove', 0xe8a0abfe, { query_id: u64 });

/** Comments first: a text of the wrong form is tried as one in a reference. */
export const commonBodies = [
  textComment,
  textCommentInReference,
  encryptedComment,
  excess,
  bounce,
  topUp,
  credit,
  approve,
  disapprove,
];
