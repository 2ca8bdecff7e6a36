import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { acceptedEncoding, createCompression } from './compression.ts';

describe('acceptedEncoding', () => {
  // Cases of RFC 9110, 12.5.3, and the headers of browsers, curl and undici.
  it.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['gzip, deflate', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['compress, gzip', 'gzip'],
    ['*', 'br'],
    ['br;q=0.5, gzip;q=1.0', 'gzip'],
    ['gzip;q=1.0, identity; q=0.5, *;q=0', 'gzip'],
    ['gzip;q=0', null],
    ['gzip;q=0, *', 'br'],
    ['br;q=0, gzip;q=0.001', 'gzip'],
    ['GZIP', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip;q=nonsense', null],
    ['deflate', null],
  ])('%j: %s', (header, expected) => {
    expect(acceptedEncoding(header)).toBe(expected);
  });
});

describe('compression', () => {
  const body = Buffer.from(JSON.stringify(Array.from({ length: 5_000 }, (_, i) => ({ n: i, text: 'ü'.repeat(9) }))));

  it('packs what others unpack', async () => {
    const { pack } = createCompression(2);
    const [gzip, br] = await Promise.all([pack(body, 'gzip'), pack(body, 'br')]);
    expect(gunzipSync(gzip ?? '').equals(body)).toBe(true);
    expect(brotliDecompressSync(br ?? '').equals(body)).toBe(true);
    for (const packed of [gzip, br]) expect(packed?.length).toBeLessThan(body.length / 4);
  });

  it('refuses to pack more at once, and goes on afterwards', async () => {
    const { pack, figures } = createCompression(2);
    const running = [pack(body, 'gzip'), pack(body, 'br')];
    expect(pack(body, 'gzip')).toBeNull();
    await Promise.all(running);
    expect(gunzipSync((await pack(body, 'gzip')) ?? '').equals(body)).toBe(true);
    expect(figures).toEqual({ packed: 3, refused: 1 });
  });

  it('lets the event loop run meanwhile', async () => {
    const order: string[] = [];
    const packing = createCompression(1)
      .pack(body, 'gzip')
      ?.then(() => order.push('packed'));
    setImmediate(() => order.push('other work'));
    await packing;
    expect(order).toEqual(['other work', 'packed']);
  });
});
