import { describe, expect, it } from 'vitest';
import { madeHash } from '../../test/made-chain.ts';
import type { Message } from '../chain/model.ts';
import { encodeRow } from '../window/kind.ts';
import type { Found, View } from '../window/view.ts';
import { endsIn, idOfShowing, sentMessageKind } from './messages.ts';

const STEP = 7;

/** Id of a row of the step at a place. */
function idAt(place: number): Buffer {
  const id = Buffer.alloc(7);
  id.writeUInt32BE(STEP);
  id[6] = place;
  return id;
}

/** An archive with one message under the 8 bytes that all hashes here begin with, shown by the transaction at a place. */
function archiveOf(received: number, place: number): { view: View; shown: Buffer } {
  const values = { hash: Buffer.alloc(8), received, shownBy: idAt(place).subarray(-3), globalVersion: 0, outLt: '5' };
  const found = { id: idAt(0), row: encodeRow(sentMessageKind, values) };
  return { view: { find: () => found } as unknown as View, shown: idOfShowing(found) };
}

const message = { hash: Buffer.alloc(32), source: madeHash('source') } as unknown as Message;
const transaction = (id: Buffer): Found => ({ id, row: Buffer.alloc(0) });

describe('the ends of a message whose hash begins like that of another one', () => {
  it('has nobody received it: told where the transaction itself shows it alone', () => {
    const { view, shown } = archiveOf(0, 1);
    expect(endsIn(view).receiver(message, transaction(shown))).toEqual([]);
    expect(endsIn(view).receiver(message, transaction(archiveOf(0, 2).shown))).toBeNull();
  });

  it('is its sender asked for: not known where what is here was not received, or by another one', () => {
    const { view, shown } = archiveOf(0, 1);
    expect(endsIn(view).sender(message, transaction(shown))).toBeNull();
    expect(endsIn(archiveOf(1, 1).view).sender(message, transaction(archiveOf(1, 2).shown))).toBeNull();
  });
});
