/** Large answers go out packed to clients that take it, packed off the event loop and a few at a time. */
import { promisify } from 'node:util';
import { type BrotliOptions, brotliCompress, constants, gzip, type ZlibOptions } from 'node:zlib';

/**
 * Levels by `npm run bench:render`, for a page of 100 transactions, 345 KB: brotli 1 takes 0.3 ms to 27 KB, its other
 * levels three times as long for a tenth less; gzip 1 takes 1.2 ms to 53 KB, level 4 takes 1.8 ms to 48 KB, level 6
 * 2.3 ms to 46 KB. The window of brotli reaches a message that was shown before, that of gzip often does not.
 */
export const GZIP: ZlibOptions = { level: 1, memLevel: 9 };
export const BROTLI: BrotliOptions = {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 1,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  },
};

/** As `Content-Encoding` names it. */
export type Encoding = 'br' | 'gzip';

/** A smaller body is sent as it is: packing it would cost more than it saves. */
export const PACKED_FROM_BYTES = 64 * 1024;

const packers: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, BROTLI),
  gzip: (body) => promisify(gzip)(body, GZIP),
};

export interface Compression {
  /** The packed body; null when as many are being packed as may be: then it goes out plain. */
  pack(body: Buffer, encoding: Encoding): Promise<Buffer> | null;
  /** Since the start. */
  readonly figures: { readonly packed: number; readonly refused: number };
}

/** `maxConcurrent`: bodies packed at the same time, each in a thread of libuv's pool, which others need too. */
export function createCompression(maxConcurrent: number): Compression {
  const figures = { packed: 0, refused: 0 };
  let running = 0;

  async function pack(body: Buffer, encoding: Encoding): Promise<Buffer> {
    running++;
    try {
      return await packers[encoding](body);
    } finally {
      running--;
      figures.packed++;
    }
  }

  return {
    figures,
    pack(body, encoding) {
      if (running < maxConcurrent) return pack(body, encoding);
      figures.refused++;
      return null;
    },
  };
}

/**
 * The encoding to use for an `Accept-Encoding` header (RFC 9110, 12.5.3): the one with the greater weight, brotli of
 * equal ones; null when neither is accepted, or there is no header.
 */
export function acceptedEncoding(header: string | undefined): Encoding | null {
  if (header === undefined) return null;
  const weights = new Map<string, number>();
  for (const part of header.toLowerCase().split(',')) {
    const [name, ...parameters] = part.split(';').map((word) => word.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    const weight = q === undefined ? 1 : Number(q.slice(2));
    weights.set(name === 'x-gzip' ? 'gzip' : name, Number.isFinite(weight) ? weight : 0);
  }
  const weightOf = (name: Encoding): number => weights.get(name) ?? weights.get('*') ?? 0;
  const best: Encoding = weightOf('gzip') > weightOf('br') ? 'gzip' : 'br';
  return weightOf(best) > 0 ? best : null;
}
