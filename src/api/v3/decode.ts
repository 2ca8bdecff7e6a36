import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { openBoc } from '../../chain/boc.ts';
import { DecodeError } from '../../chain/errors.ts';
import { CellView } from '../../chain/layouts/cell-view.ts';
import { type Decoded, decodeBody } from '../../chain/layouts/decode.ts';
import { opcodeName } from '../../chain/layouts/registry.ts';
import { sent } from '../parameters.ts';
import { type Route, route } from './route.ts';
import { decoded } from './schemas.ts';

/** Items of either list. */
const MAX_ITEMS = 1000;
/** Cells of one body: more than a message can have. */
const MAX_CELLS = 16_384;
/** Other requests get their turn after so much work. */
const TURN_MS = 5;
const MAX_UINT32 = 2 ** 32 - 1;
const MIN_INT32 = -(2 ** 31);

export function decodeRoute(): Route {
  return route({
    path: '/decode',
    methods: ['GET', 'POST'],
    needsBody: true,
    tag: 'utils',
    summary: 'Names of opcodes, and message bodies as JSON',
    parameters: z.object({
      opcodes: opcodeList('Opcodes: hex with or without `0x`, else decimal.'),
      bodies: items('bodies', 'Bags of cells: base64 (it begins with `te6`), else hex.'),
    }),
    response: decoded,
    async answer({ opcodes, bodies }, { context }) {
      const names = opcodes.map((opcode) => JSON.stringify(opcodeName(opcode) ?? 'unknown'));
      const lines: string[] = [];
      let turn = performance.now();
      for (const body of bodies) {
        if (performance.now() - turn > TURN_MS) {
          await setImmediate();
          context.signal.throwIfAborted();
          turn = performance.now();
        }
        const result = decodeText(body);
        lines.push('json' in result ? result.json : JSON.stringify({ error: result.unknown }));
      }
      return `{"opcodes":[${names.join(',')}],"bodies":[${lines.join(',')}]}`;
    },
  });
}

/** Texts alone: a number of JSON would be read as hex. */
const texts = z
  .unknown()
  .refine((value): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string'), {
    params: { conversion: true },
  });

/** Plain texts, never split at commas. */
function items(name: string, description: string) {
  return texts
    .pipe(sent)
    .transform((values, context): string[] => {
      if (values.length <= MAX_ITEMS) return values;
      context.addIssue({ code: 'custom', message: `${name} list exceeds maximum length of ${MAX_ITEMS}` });
      return z.NEVER;
    })
    .default([])
    .meta({ type: 'array', items: { type: 'string' }, description, maxItems: MAX_ITEMS });
}

function opcodeList(description: string) {
  return items('opcodes', description)
    .transform((values, context): number[] => {
      const opcodes: number[] = [];
      for (const [index, value] of values.entries()) {
        const digits = value.replace(/^0[xX]/, '');
        const opcode = parseDigits(digits);
        if (opcode === null) {
          context.addIssue({ code: 'custom', message: `invalid opcode format at index ${index}: ${digits}` });
          return z.NEVER;
        }
        opcodes.push(opcode);
      }
      return opcodes;
    })
    .meta({ type: 'array', items: { type: 'string' }, description, maxItems: MAX_ITEMS });
}

/** Hex of 32 bits, else unsigned decimal of 32 bits, else signed. */
function parseDigits(digits: string): number | null {
  if (/^0*[0-9a-fA-F]{1,8}$/.test(digits)) return Number.parseInt(digits, 16);
  if (!/^[+-]?\d{1,40}$/.test(digits)) return null;
  const value = Number(digits);
  return value >= MIN_INT32 && value <= MAX_UINT32 ? value >>> 0 : null;
}

function decodeText(text: string): Decoded {
  const bytes = bytesOf(text);
  if (bytes === null) return { unknown: 'unknown: neither base64 nor hex' };
  try {
    const boc = openBoc(bytes, { maxRoots: 1, maxCells: MAX_CELLS });
    return decodeBody(CellView.of(boc, boc.roots[0]));
  } catch (error) {
    if (error instanceof DecodeError) return { unknown: `unknown: ${error.message}` };
    throw error;
  }
}

function bytesOf(text: string): Buffer | null {
  if (text.startsWith('te6')) return /^[A-Za-z0-9+/_-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
  return text.length % 2 === 0 && /^[0-9a-fA-F]+$/.test(text) ? Buffer.from(text, 'hex') : null;
}
