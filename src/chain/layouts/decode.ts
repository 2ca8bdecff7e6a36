/**
 * Bodies as JSON, as the decoder of the TON Center v3 API prints them: a body becomes an object, and each cell in it
 * of which no more is known is decoded in turn when it fits a layout, to a depth of ten.
 */
import type { Cursor } from '../cursor.ts';
import { DecodeError } from '../errors.ts';
import { CellView } from './cell-view.ts';
import type { Codec, Printer } from './codec.ts';
import { checkDepth } from './layout.ts';
import { layoutsOf, opcodeName } from './registry.ts';
import { signedBodies } from './wallets.ts';

/** Bodies in bodies. */
const MAX_NESTING = 10;
/**
 * Steps of one body: records, references and dictionary nodes, each counted as often as it is printed. A body of honest
 * size takes far fewer; one whose cells refer to the same cells again and again does not grow beyond its bytes.
 */
const LEAST_STEPS = 256;
const BYTES_A_STEP = 2;
const MOST_STEPS = 8192;
/** Undecoded cells, texts and long labels cost a step for so many characters. */
const CHARACTERS_A_STEP = 64;
/** How a bag of cells begins in base64. */
const BOC_PREFIX = 'te6c';
const OPCODE_BITS = 32;

/** A body as JSON, or why it has none: a text that begins with `unknown`. */
export type Decoded = { json: string } | { unknown: string };

/** Ends the decoding of the whole body, not only of the part that uses up the limit. */
class TooLarge extends DecodeError {}

/**
 * Decodes a body. Takes bounded time and memory whatever the cells are; throws nothing.
 * @param bytes of the body as a bag of its own
 */
export function decodeBody(view: CellView, bytes: number = view.boc.bytes.length): Decoded {
  try {
    return decode(view, new BodyPrinter(Math.min(LEAST_STEPS + bytes / BYTES_A_STEP, MOST_STEPS)));
  } catch (error) {
    if (error instanceof DecodeError) return unknown(error.message);
    throw error;
  }
}

function unknown(reason: string): Decoded {
  return { unknown: `unknown: ${reason}` };
}

function decode(view: CellView, printer: BodyPrinter): Decoded {
  if (view.isExotic) return unknown('exotic cell');
  const { bits } = view;
  if (bits === 0 && view.refs === 0) return { json: '{"@type":"empty_cell"}' };
  if (bits < OPCODE_BITS) return unknown(`boc is too small, size ${bits}`);
  checkDepth(view);
  const opcode = view.cursor().u(OPCODE_BITS);
  for (const layout of layoutsOf(opcode)) {
    const json = attempt(() => layout.print(view.cursor(), printer));
    if (json !== null) return { json };
  }
  if (opcodeName(opcode) !== null) return unknown('no layout fits');
  for (const signed of signedBodies) {
    if (!signed.fits(bits, view.refs)) continue;
    const json = attempt(() => printWhole(signed.codec, view.cursor(), printer));
    if (json !== null) return { json };
  }
  return unknown('no layout has this opcode');
}

/** A body that no opcode tells is taken for what it looks like only when nothing of it is left over. */
function printWhole(codec: Codec<unknown>, cursor: Cursor, printer: Printer): string {
  const json = codec.print(cursor, printer);
  if (cursor.bitsLeft > 0 || cursor.refsLeft > 0) throw new DecodeError('bits or references left over');
  return json;
}

/** Null when the cells are not of the layout. */
function attempt<T>(print: () => T): T | null {
  try {
    return print();
  } catch (error) {
    if (error instanceof DecodeError && !(error instanceof TooLarge)) return null;
    throw error;
  }
}

class BodyPrinter implements Printer {
  private steps: number;
  private nesting = 0;

  constructor(steps: number) {
    this.steps = steps;
  }

  step(): void {
    this.take(1);
  }

  spend(characters: number): void {
    this.take(characters / CHARACTERS_A_STEP);
  }

  cell(view: CellView): string {
    return this.nested(view) ?? this.undecoded(view);
  }

  text(text: string): string {
    this.spend(text.length);
    const bag = text.startsWith(BOC_PREFIX) ? attempt(() => this.nestedBag(text)) : null;
    return bag ?? JSON.stringify(text);
  }

  private nested(view: CellView): string | null {
    if (this.nesting > MAX_NESTING) return null;
    this.nesting++;
    try {
      const decoded = attempt(() => decode(view, this));
      return decoded !== null && 'json' in decoded ? decoded.json : null;
    } finally {
      this.nesting--;
    }
  }

  private nestedBag(text: string): string | null {
    return this.nested(CellView.parse(Buffer.from(text, 'base64')));
  }

  private undecoded(view: CellView): string {
    const text = view.serialize().toString('base64');
    this.spend(text.length);
    return `"${text}"`;
  }

  private take(steps: number): void {
    this.steps -= steps;
    if (this.steps < 0) throw new TooLarge('body too large to decode');
  }
}
