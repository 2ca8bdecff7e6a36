/** CRC-32C (Castagnoli, reflected polynomial 82f63b78) of bags of cells, and CRC-16/XMODEM of addresses. */

const SLICES = 8;

/** Eight tables of 256: eight input bytes a step ("slicing by eight", twice as fast here as by four). */
const castagnoli = ((): Int32Array => {
  const table = new Int32Array(256 * SLICES);
  for (let n = 0; n < 256; n++) {
    let crc = n;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
    table[n] = crc;
  }
  for (let n = 256; n < table.length; n++) {
    const previous = table[n - 256];
    table[n] = (previous >>> 8) ^ table[previous & 255];
  }
  return table;
})();

/** CRC-32C of `bytes[start, end)`, unsigned. A bag of cells stores it little-endian in its last four bytes. */
export function crc32c(bytes: Uint8Array, start = 0, end = bytes.length): number {
  const table = castagnoli;
  let crc = -1;
  let at = start;
  for (const last = end - 7; at < last; at += 8) {
    crc ^= bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    crc =
      table[1792 + (crc & 255)] ^
      table[1536 + ((crc >>> 8) & 255)] ^
      table[1280 + ((crc >>> 16) & 255)] ^
      table[1024 + (crc >>> 24)] ^
      table[768 + bytes[at + 4]] ^
      table[512 + bytes[at + 5]] ^
      table[256 + bytes[at + 6]] ^
      table[bytes[at + 7]];
  }
  for (; at < end; at++) crc = table[(crc ^ bytes[at]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const xmodem = ((): Uint16Array => {
  const table = new Uint16Array(256);
  for (let n = 0; n < 256; n++) {
    let crc = n << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    table[n] = crc;
  }
  return table;
})();

/** CRC-16/XMODEM (polynomial 1021, start 0), as in user-friendly addresses and get-method ids. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ xmodem[(crc >>> 8) ^ byte];
  return crc;
}
