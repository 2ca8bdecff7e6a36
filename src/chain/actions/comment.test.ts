import { expect, test } from 'vitest';
import { Builder, type Cell } from '../builder.ts';
import { CellView } from '../layouts/cell-view.ts';
import { bodyComment, ENCRYPTED_COMMENT, itemComment, payloadComment, TEXT_COMMENT } from './comment.ts';

const of = (opcode: number, ...parts: Buffer[]): Cell => {
  const [first = Buffer.alloc(0), ...rest] = parts;
  const last = rest.reduceRight<Cell | null>((next, bytes) => link(new Builder().bytes(bytes), next), null);
  return link(new Builder().u(opcode, 32).bytes(first), last);
};
const link = (builder: Builder, next: Cell | null): Cell => (next === null ? builder : builder.ref(next)).cell();
const body = (cell: Cell) => bodyComment(cell.data.readUInt32BE(0), () => CellView.from(cell));
const text = (cell: Cell): string | null => body(cell).text;

test('is text that goes on in references', () => {
  expect(body(of(TEXT_COMMENT, Buffer.from('grü'), Buffer.from('ße')))).toEqual({ text: 'grüße', encrypted: false });
});

test('shows bytes that are no UTF-8, and leaves out NUL', () => {
  const bytes = Buffer.concat([Buffer.from('a\0€'), Buffer.from('ff82e282', 'hex'), Buffer.from('z')]);
  expect(text(of(TEXT_COMMENT, bytes))).toBe('a€\\xff\\x82\\xe2\\x82z');
});

test('needs a byte as the body of a transfer, none in a payload', () => {
  expect(text(of(TEXT_COMMENT))).toBeNull();
  expect(payloadComment(CellView.from(of(TEXT_COMMENT)))).toEqual({ text: '', encrypted: false });
});

test('needs whole bytes and one reference at most', () => {
  expect(text(new Builder().u(0, 32).u(1, 12).cell())).toBeNull();
  const empty = new Builder().cell();
  expect(text(new Builder().u(0, 32).u(65, 8).ref(empty).ref(empty).cell())).toBeNull();
});

test('is base64 when it is encrypted', () => {
  const bytes = Buffer.from('0123456789abcdef', 'hex');
  const expected = { text: bytes.toString('base64'), encrypted: true };
  expect(body(of(ENCRYPTED_COMMENT, bytes.subarray(0, 3), bytes.subarray(3)))).toEqual(expected);
  expect(payloadComment(CellView.from(of(ENCRYPTED_COMMENT, bytes)))).toEqual(expected);
});

test('needs the same when it is encrypted', () => {
  const empty = new Builder().cell();
  const none = { text: null, encrypted: true };
  expect(body(of(ENCRYPTED_COMMENT))).toEqual(none);
  expect(body(new Builder().u(ENCRYPTED_COMMENT, 32).u(1, 12).cell())).toEqual(none);
  expect(body(new Builder().u(ENCRYPTED_COMMENT, 32).u(65, 8).ref(empty).ref(empty).cell())).toEqual(none);
});

test('is null when a cell of it cannot be read', () => {
  const library = new Builder().u(2, 8).bytes(Buffer.alloc(32)).cell(true);
  expect(text(new Builder().u(0, 32).u(65, 8).ref(library).cell())).toBeNull();
  const encrypted = new Builder().u(ENCRYPTED_COMMENT, 32).u(65, 8).ref(library).cell();
  expect(body(encrypted)).toEqual({ text: null, encrypted: true });
  expect(payloadComment(CellView.from(encrypted))).toEqual({ text: null, encrypted: false });
});

test('is none where a cell of it refers to several', () => {
  const empty = new Builder().cell();
  const forked = (opcode: number) => new Builder().u(opcode, 32).u(65, 8).ref(empty).ref(empty).cell();
  const further = (opcode: number) => {
    return new Builder().u(opcode, 32).u(65, 8).ref(new Builder().u(66, 8).ref(empty).ref(empty).cell()).cell();
  };
  expect(text(further(TEXT_COMMENT))).toBeNull();
  expect(body(further(ENCRYPTED_COMMENT))).toEqual({ text: null, encrypted: true });
  for (const made of [forked, further]) {
    for (const opcode of [TEXT_COMMENT, ENCRYPTED_COMMENT]) {
      const payload = CellView.from(made(opcode));
      expect(payloadComment(payload)).toEqual({ text: null, encrypted: false });
      expect(itemComment(payload)).toEqual({ text: null, encrypted: false });
    }
  }
});

test('of an item may end within a byte, of a jetton it may not', () => {
  const half = CellView.from(new Builder().u(TEXT_COMMENT, 32).u(0x41, 8).u(0b0110, 4).cell());
  expect(itemComment(half)).toEqual({ text: 'A`', encrypted: false });
  expect(payloadComment(half)).toEqual({ text: null, encrypted: false });
});
