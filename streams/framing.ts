import { crc32 } from 'node:zlib';
import { LogError, type LogRecord, type StoredRecord } from './log.ts';

/** Largest value of a record in either log. The largest block recorded so far has 511 KB. */
export const MAX_VALUE_BYTES = 16 * 1024 * 1024;
/** Key and headers together; leaves room for them in a broker limit set a little above the value's. */
export const MAX_META_BYTES = 32 * 1024;

const FRAME_VERSION = 1;
const CRC_AT = 1;
const TIME_AT = 5;
const HEADER_COUNT_AT = 13;
const KEY_LENGTH_AT = 15;
const KEY_AT = 17;

const ASCII = /^[\x20-\x7e]*$/;

/** Bytes of key, header names and header values. */
function metaBytes(record: LogRecord): number {
  let bytes = Buffer.byteLength(record.key);
  for (const [name, value] of Object.entries(record.headers)) bytes += name.length + value.length;
  return bytes;
}

/** Payload bytes of a record: value, key and headers. */
export function recordBytes(record: LogRecord): number {
  return record.value.length + metaBytes(record);
}

/**
 * Refuses records that one of the logs could not hold.
 * @throws {LogError} `too_large`, or `corrupt` for headers that are not printable ASCII
 */
export function checkRecords(topic: string, records: readonly LogRecord[], maxValueBytes = MAX_VALUE_BYTES): void {
  for (const record of records) {
    if (record.value.length > maxValueBytes) {
      throw new LogError(
        'too_large',
        `record ${record.key} for topic ${topic} has ${record.value.length} bytes; at most ${maxValueBytes} fit`,
      );
    }
    if (metaBytes(record) > MAX_META_BYTES) {
      throw new LogError('too_large', `key and headers of a record for topic ${topic} exceed ${MAX_META_BYTES} bytes`);
    }
    for (const [name, value] of Object.entries(record.headers)) {
      if (!ASCII.test(name) || !ASCII.test(value) || name.length === 0 || name.length > 255) {
        throw new LogError('corrupt', `header ${JSON.stringify(name)} of record ${record.key} is not plain ASCII`);
      }
    }
  }
}

/**
 * One record as the embedded log stores it, little-endian:
 *
 *     u8  version (1)            u32 CRC-32 of all that follows     f64 time, Unix ms
 *     u16 number of headers      u16 key length                     key, UTF-8
 *     headers: u8 name length, u16 value length, name, value        value: the rest
 */
export function encodeFrame(record: LogRecord, time: number): Buffer {
  const key = Buffer.from(record.key);
  const headers = Object.entries(record.headers);
  let size = KEY_AT + key.length + record.value.length;
  for (const [name, value] of headers) size += 3 + name.length + value.length;
  const frame = Buffer.allocUnsafe(size);
  frame[0] = FRAME_VERSION;
  frame.writeDoubleLE(time, TIME_AT);
  frame.writeUInt16LE(headers.length, HEADER_COUNT_AT);
  frame.writeUInt16LE(key.length, KEY_LENGTH_AT);
  let at = KEY_AT + key.copy(frame, KEY_AT);
  for (const [name, value] of headers) {
    frame[at] = name.length;
    frame.writeUInt16LE(value.length, at + 1);
    at += 3;
    at += frame.write(name, at, 'latin1');
    at += frame.write(value, at, 'latin1');
  }
  record.value.copy(frame, at);
  frame.writeUInt32LE(crc32(frame.subarray(TIME_AT)), CRC_AT);
  return frame;
}

/** Time of a frame without reading the rest. */
export function frameTime(frame: Buffer): number {
  return frame.readDoubleLE(TIME_AT);
}

/**
 * The record of a frame. The value is a view into `frame`.
 * @throws {LogError} `corrupt`
 */
export function decodeFrame(frame: Buffer, topic: string, offset: number): StoredRecord {
  const fail = (what: string): never => {
    throw new LogError('corrupt', `topic ${topic}, offset ${offset}: ${what}`);
  };
  if (frame.length < KEY_AT) fail('record is cut short');
  if (frame[0] !== FRAME_VERSION) fail(`record has frame version ${frame[0]}, this program reads ${FRAME_VERSION}`);
  if (crc32(frame.subarray(TIME_AT)) !== frame.readUInt32LE(CRC_AT)) fail('record is damaged (CRC-32 differs)');
  const headerCount = frame.readUInt16LE(HEADER_COUNT_AT);
  let at = KEY_AT + frame.readUInt16LE(KEY_LENGTH_AT);
  const key = frame.toString('utf8', KEY_AT, at);
  const headers: Record<string, string> = {};
  for (let index = 0; index < headerCount; index++) {
    const nameLength = frame[at];
    const valueLength = frame.readUInt16LE(at + 1);
    at += 3;
    const name = frame.toString('latin1', at, at + nameLength);
    at += nameLength;
    headers[name] = frame.toString('latin1', at, at + valueLength);
    at += valueLength;
  }
  return { offset, time: frameTime(frame), key, headers, value: frame.subarray(at) };
}
