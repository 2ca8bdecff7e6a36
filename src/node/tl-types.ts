/**
 * TypeScript types read off TL schema lines at compile time, so that a line is the only place where a structure is
 * written down. Field names become camelCase. `int` and `#` are numbers, `long` is a bigint, `int256` and `bytes` are
 * Buffers; a field behind a flag is optional; a boxed type with several constructors carries `kind`.
 */

type Camel<S extends string> = S extends `${infer A}_${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S;

/** Name of the combinator a line declares. */
export type NameOf<Line extends string> = Line extends `${infer Name} ${string}`
  ? Name extends `${infer Plain}#${string}`
    ? Plain
    : Name
  : never;

/** Type a line's combinator belongs to: what stands behind the equals sign. */
export type ResultOf<Line extends string> = Line extends `${string}= ${infer Result}` ? Result : never;

type BodyOf<Line extends string> = Line extends `${infer _Name} ${infer Body}` ? Body : never;

type ByName<Lines extends readonly string[]> = { [Line in Lines[number] as NameOf<Line>]: Line };

/** Lines of a boxed type. A conditional type over a union picks those whose result it is. */
type LinesOf<Type extends string, Line extends string> = Line extends `${string}= ${Type}` ? Line : never;

type IsUnion<T, U = T> = [T] extends [never] ? false : T extends U ? ([U] extends [T] ? false : true) : false;

interface Plain {
  '#': number;
  int: number;
  long: bigint;
  int256: Buffer;
  bytes: Buffer;
  string: string;
  Bool: boolean;
  true: boolean;
}

type ValueOf<Type extends string, Lines extends readonly string[]> = Type extends keyof Plain
  ? Plain[Type]
  : Type extends keyof ByName<Lines>
    ? FieldsOf<ByName<Lines>[Type] & string, Lines>
    : BoxedOf<Type, Lines>;

/** A value of a boxed type (`liteServer.BlockLink`). */
export type BoxedOf<Type extends string, Lines extends readonly string[]> =
  IsUnion<LinesOf<Type, Lines[number]>> extends true
    ? KindOf<LinesOf<Type, Lines[number]>, Lines>
    : FieldsOf<LinesOf<Type, Lines[number]>, Lines>;

type KindOf<Line extends string, Lines extends readonly string[]> = Line extends string
  ? Flat<{ kind: NameOf<Line> } & FieldsOf<Line, Lines>>
  : never;

type Flat<T> = { [K in keyof T]: T[K] };

/** The fields of a combinator. */
export type FieldsOf<Line extends string, Lines extends readonly string[]> = Flat<Read<BodyOf<Line>, Lines, unknown>>;

/** Takes one `name:type` after the other off the body. */
type Read<Body extends string, Lines extends readonly string[], Done> = Body extends `= ${string}`
  ? Done
  : Body extends `${infer Token} ${infer Rest}`
    ? Token extends `${infer Name}:(vector`
      ? Rest extends `${infer Item}) ${infer After}`
        ? Read<After, Lines, Done & { [K in Camel<Name>]: ValueOf<Item, Lines>[] }>
        : never
      : Token extends `${infer Name}:${infer Type}`
        ? Type extends `${string}?${infer Inner}`
          ? Read<Rest, Lines, Done & { [K in Camel<Name>]?: ValueOf<Inner, Lines> | undefined }>
          : Read<Rest, Lines, Done & { [K in Camel<Name>]: ValueOf<Type, Lines> }>
        : never
    : never;
