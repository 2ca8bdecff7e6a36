/** What types are put together from: records, alternatives, references, optional parts. */
import type { Builder } from '../builder.ts';
import { Builder as CellBuilder } from '../builder.ts';
import type { Cursor } from '../cursor.ts';
import { DecodeError, inside } from '../errors.ts';
import { CellView } from './cell-view.ts';
import { type Chance, type Codec, type Printer, printArgument, type ValueOf } from './codec.ts';

/** Fields of a record in the order of their bits. */
export type Fields = Record<string, Codec<unknown>>;

export type RecordOf<F extends Fields> = { -readonly [K in keyof F]: ValueOf<F[K]> };

/** Fields one after the other. `name` is the constructor's, null for one without. Errors name the field. */
export function record<F extends Fields>(name: string | null, fields: F): Codec<RecordOf<F>> {
  const names = Object.keys(fields);
  const codecs = Object.values(fields);
  const labels = names.map((field, i) => `"${codecs[i].printedName ?? field}":`);
  const opening = name === null ? '{' : `{"@type":"${name}"`;
  return {
    read(cursor) {
      const value: Record<string, unknown> = {};
      let i = 0;
      try {
        for (; i < codecs.length; i++) value[names[i]] = codecs[i].read(cursor);
      } catch (error) {
        throw inside(names[i], error);
      }
      return value as RecordOf<F>;
    },
    write(builder, value) {
      let i = 0;
      try {
        for (; i < codecs.length; i++) codecs[i].write(builder, value[names[i]]);
      } catch (error) {
        throw error instanceof RangeError ? new RangeError(`${names[i]}: ${error.message}`) : error;
      }
    },
    print(cursor, printer) {
      printer.step();
      let text = opening;
      let i = 0;
      try {
        for (; i < codecs.length; i++) {
          text += (i === 0 && name === null ? '' : ',') + labels[i] + codecs[i].print(cursor, printer);
        }
      } catch (error) {
        throw inside(names[i], error);
      }
      return `${text}}`;
    },
    sample(chance) {
      return Object.fromEntries(names.map((name, i) => [name, codecs[i].sample(chance)])) as RecordOf<F>;
    },
  };
}

/**
 * Fields, then `flags:(## 8) { flags <= 1 }`, then one more field when the flag is set, which is left out of the print
 * when it is not.
 */
export function flagged<F extends Fields, N extends string, T>(
  name: string,
  fields: F,
  field: N,
  codec: Codec<T>,
): Codec<RecordOf<F> & { [K in N]: T | null }> {
  const head = record(name, fields);
  const flag = (cursor: Cursor): boolean => {
    const flags = cursor.u(8);
    if (flags > 1) throw new DecodeError(`flags ${flags}`, field);
    return flags === 1;
  };
  return {
    read(cursor) {
      const value = head.read(cursor);
      return { ...value, [field]: flag(cursor) ? codec.read(cursor) : null } as RecordOf<F> & { [K in N]: T | null };
    },
    write(builder, value) {
      head.write(builder, value);
      const one = value[field];
      builder.u(one === null ? 0 : 1, 8);
      if (one !== null) codec.write(builder, one);
    },
    print(cursor, printer) {
      const text = head.print(cursor, printer).slice(0, -1);
      if (!flag(cursor)) return `${text},"flags":"0"}`;
      return `${text},"flags":"1","${field}":${codec.print(cursor, printer)}}`;
    },
    sample(chance) {
      const one = chance.below(2) === 0 ? null : codec.sample(chance);
      return { ...head.sample(chance), [field]: one } as RecordOf<F> & { [K in N]: T | null };
    },
  };
}

/** A field without a name in print. */
export function unnamed<T>(codec: Codec<T>): Codec<T> {
  return { ...codec, printedName: '' };
}

/** One constructor of a type with several: a tag, then fields. */
export interface Variant<N extends string, T> {
  readonly name: N;
  readonly tagBits: number;
  readonly tag: number;
  readonly fields: Codec<T>;
}

export type VariantOf<V> = V extends Variant<infer N, infer T> ? { kind: N } & T : never;

/** `tag` is the constructor's first `tagBits` bits; without bits it fits always and comes last. */
export function variant<N extends string, F extends Fields>(
  name: N,
  tagBits: number,
  tag: number,
  fields: F,
): Variant<N, RecordOf<F>> {
  return { name, tagBits, tag, fields: record(name, fields) };
}

/** A type with several constructors, told apart by their tags. The value names the constructor in `kind`. */
export function union<V extends Variant<string, unknown>[]>(type: string, ...variants: V): Codec<VariantOf<V[number]>> {
  const take = (cursor: Cursor): V[number] => {
    for (const one of variants) {
      if (cursor.bitsLeft < one.tagBits) continue;
      if (cursor.u(one.tagBits) === one.tag) return one;
      cursor.at -= one.tagBits;
    }
    throw new DecodeError(`no constructor of ${type}`);
  };
  return {
    read(cursor) {
      const one = take(cursor);
      return Object.assign({ kind: one.name }, one.fields.read(cursor)) as VariantOf<V[number]>;
    },
    write(builder, value) {
      const one = variants.find(({ name }) => name === (value as { kind: string }).kind);
      if (one === undefined) throw new RangeError(`no constructor of ${type} by this name`);
      builder.u(one.tag, one.tagBits);
      one.fields.write(builder, value);
    },
    print: (cursor, printer) => take(cursor).fields.print(cursor, printer),
    sample(chance) {
      const one = variants[chance.below(variants.length)];
      return Object.assign({ kind: one.name }, one.fields.sample(chance)) as VariantOf<V[number]>;
    },
  };
}

/** A tag that fits one constructor only. */
export function tagged<N extends string, F extends Fields>(
  name: N,
  tagBits: number,
  tag: number,
  fields: F,
): Codec<RecordOf<F>> {
  const inner = record(name, fields);
  return {
    read(cursor) {
      cursor.tag(tagBits, tag, name);
      return inner.read(cursor);
    },
    write(builder, value) {
      builder.u(tag, tagBits);
      inner.write(builder, value);
    },
    print(cursor, printer) {
      cursor.tag(tagBits, tag, name);
      return inner.print(cursor, printer);
    },
    sample: inner.sample,
  };
}

/** `^X`: the fields of the next reference. */
export function ref<T>(codec: Codec<T>): Codec<T> {
  const print = (cursor: Cursor, printer: Printer): string => {
    printer.step();
    return codec.print(cursor.open(), printer);
  };
  return {
    read: (cursor) => codec.read(cursor.open()),
    write(builder, value) {
      const child = new CellBuilder();
      codec.write(child, value);
      builder.ref(child.cell());
    },
    print,
    sample: codec.sample,
    printArgument: (cursor, printer) => `{"cell_reference":${print(cursor, printer)}}`,
  };
}

/** A codec in the place of a type's argument, where a field has it. */
export function argument<T>(codec: Codec<T>): Codec<T> {
  return { ...codec, print: (cursor, printer) => printArgument(codec, cursor, printer) };
}

/** `^Cell`: the next reference, whatever is in it. */
export const cell: Codec<CellView> = {
  read: (cursor) => CellView.of(cursor.boc, cursor.nextRef()),
  write: (builder, value) => builder.ref(value.build()),
  print: (cursor, printer) => printer.cell(CellView.of(cursor.boc, cursor.nextRef())),
  sample: sampleCell,
};

/** `Cell` or `Any` at the end of a type: all bits and references that are left. */
export const rest: Codec<CellView> = {
  read: takeRest,
  write: (builder, value) => builder.append(value.build()),
  print: (cursor, printer) => printer.cell(takeRest(cursor)),
  sample: sampleCell,
};

function sampleCell(chance: Chance): CellView {
  const builder = new CellBuilder().u(chance.below(2 ** 16), 16 + chance.below(24));
  if (chance.below(4) === 0) builder.ref(new CellBuilder().bytes(chance.bytes(chance.below(20))).cell());
  return CellView.from(builder.cell());
}

function takeRest(cursor: Cursor): CellView {
  const view = CellView.rest(cursor);
  cursor.at = cursor.end;
  cursor.ref = cursor.refEnd;
  return view;
}

/** `Maybe X`: null for nothing. */
export function maybe<T>(codec: Codec<T>): Codec<T | null> {
  return {
    read: (cursor) => (cursor.bit() ? codec.read(cursor) : null),
    write(builder, value) {
      builder.bit(value !== null);
      if (value !== null) codec.write(builder, value);
    },
    print(cursor, printer) {
      if (!cursor.bit()) return '{"@type":"nothing_from_maybe"}';
      return `{"@type":"something_from_maybe","value":${printArgument(codec, cursor, printer)}}`;
    },
    sample: (chance) => (chance.below(2) === 0 ? null : codec.sample(chance)),
  };
}

/** `Maybe ^Cell`. */
export const maybeCell: Codec<CellView | null> = maybe(cell);

/** What an `Either X Y` holds. */
export type EitherOf<A, B> = { side: 'first'; value: A } | { side: 'second'; value: B };

/** `Either X Y`. */
export function either<A, B>(first: Codec<A>, second: Codec<B>): Codec<EitherOf<A, B>> {
  return {
    read(cursor) {
      if (cursor.bit()) return { side: 'second', value: second.read(cursor) };
      return { side: 'first', value: first.read(cursor) };
    },
    write(builder, value) {
      builder.bit(value.side === 'second');
      if (value.side === 'first') first.write(builder, value.value);
      else second.write(builder, value.value);
    },
    print(cursor, printer) {
      if (!cursor.bit()) return `{"@type":"first_from_either","value":${printArgument(first, cursor, printer)}}`;
      return `{"@type":"second_from_either","value":${printArgument(second, cursor, printer)}}`;
    },
    sample(chance) {
      if (chance.below(2) === 0) return { side: 'first', value: first.sample(chance) };
      return { side: 'second', value: second.sample(chance) };
    },
  };
}

/** A payload and whether it stands in a reference of its own. */
export interface Payload {
  readonly inReference: boolean;
  readonly cell: CellView;
}

/** `Either Cell ^Cell`: the forward payloads of TEP-74 and TEP-62. */
export const payload: Codec<Payload> = {
  read(cursor) {
    const inReference = cursor.bit();
    return { inReference, cell: inReference ? cell.read(cursor) : rest.read(cursor) };
  },
  write(builder, value) {
    builder.bit(value.inReference);
    if (value.inReference) cell.write(builder, value.cell);
    else rest.write(builder, value.cell);
  },
  print(cursor, printer) {
    if (!cursor.bit()) return `{"@type":"first_from_either","value":${rest.print(cursor, printer)}}`;
    return `{"@type":"second_from_either","value":${cell.print(cursor, printer)}}`;
  },
  sample: (chance) => ({ inReference: chance.below(2) === 1, cell: sampleCell(chance) }),
};

/** A type that refers to itself: its codec is asked for when it is used. */
export function lazy<T>(codec: () => Codec<T>): Codec<T> {
  return {
    read: (cursor) => codec().read(cursor),
    write: (builder: Builder, value) => codec().write(builder, value),
    print: (cursor, printer) => codec().print(cursor, printer),
    sample: (chance) => codec().sample(chance),
  };
}
