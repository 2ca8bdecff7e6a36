/**
 * Parameters of operations, of which kinds are made: zod types that read what was sent in a query or as members of a
 * JSON body, and carry their description for OpenAPI. What is no text in a body (an array of pairs, say) is any other
 * zod type with a description; an operation with such a parameter is asked by POST alone.
 */
import { z } from 'zod';
import type { ApiError } from './errors.ts';

/** What was sent, by name: of a query all values in their order, of a JSON body the member as it is. */
export type Sent = ReadonlyMap<string, unknown>;

/** The texts of one parameter in the order sent. Numbers and truth values of JSON count as the texts that they print. */
export const sent = z.unknown().transform((value, context): string[] => {
  const texts = Array.isArray(value) ? value.map(textOf) : [textOf(value)];
  if (texts.every((text) => text !== null)) return texts;
  context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
  return z.NEVER;
});

/** The last of them. */
export const sentLast = sent.transform((texts, context): string => {
  const text = texts.at(-1);
  if (text !== undefined) return text;
  context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
  return z.NEVER;
});

function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  // In all digits: a shard in JSON is a number of twenty.
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value).toString() : String(value);
  return typeof value === 'boolean' ? String(value) : null;
}

export interface Shape {
  type: 'string' | 'integer' | 'number' | 'boolean';
  description: string;
  format?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  example?: string | number;
  required?: boolean;
}

/** A scalar of which `parse` gives null for text it does not take. */
export function scalar<T>(parse: (text: string) => T | null, shape: Shape) {
  return sentLast
    .transform((text, context): T => {
      const value = parse(text);
      if (value !== null) return value;
      context.addIssue({ code: 'custom', message: 'conversion', params: { conversion: true } });
      return z.NEVER;
    })
    .optional()
    .meta({ ...shape });
}

/**
 * A list: a value that is not valid as a whole is split at its commas; empty items are dropped. Errors name the
 * index of the value as sent, not of the item within it.
 */
export function list<T>(parse: (text: string) => T | null, shape: Shape, maxItems: number | null, required = false) {
  const type = sent.transform((values, context): T[] => {
    const items: T[] = [];
    const fail = (issue: { message: string; params?: Record<string, unknown> }) => {
      context.addIssue({ code: 'custom', ...issue });
      return z.NEVER;
    };
    for (const [index, value] of values.entries()) {
      const whole = value === '' ? null : parse(value);
      if (whole !== null) {
        items.push(whole);
        continue;
      }
      for (const part of value.split(',')) {
        if (part === '') continue;
        const item = part === value ? null : parse(part);
        if (item === null) return fail({ message: 'conversion', params: { conversion: true, index } });
        items.push(item);
      }
    }
    if (maxItems !== null && items.length > maxItems) return fail({ message: `maximum ${maxItems} addresses allowed` });
    return items;
  });
  const { description, ...items } = shape;
  const meta = { type: 'array', items, description, ...(maxItems === null ? {} : { maxItems }) };
  return required ? type.default([]).meta({ ...meta, required: true }) : type.default([]).meta(meta);
}

/** The parameters of one operation by name. */
export type Parameters = z.ZodObject<z.ZodRawShape>;

/**
 * Reads the declared parameters; unknown ones are ignored.
 * @param refuse what is thrown for what cannot be read
 */
export function readParameters<T extends Parameters>(
  parameters: T,
  sentValues: Sent,
  refuse: (issues: readonly z.core.$ZodIssue[]) => ApiError,
): z.output<T> {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(parameters.shape)) {
    const value = sentValues.get(name);
    if (value !== undefined) values[name] = value;
  }
  const result = parameters.safeParse(values);
  if (result.success) return result.data;
  throw refuse(result.error.issues);
}
