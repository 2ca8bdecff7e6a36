import { describe, expect, it } from 'vitest';
import { parseStart, StartPointError, startText } from './follow-start.ts';

describe('parseStart', () => {
  it.each([
    ['head', 'head'],
    ['genesis', 'genesis'],
    ['1', { seqno: 1 }],
    ['51234567', { seqno: 51_234_567 }],
    // `date -u -d 2026-01-01 +%s`
    ['1767225600', { utime: 1_767_225_600 }],
    ['2026-01-01', { utime: 1_767_225_600 }],
    ['2026-01-01T00:00', { utime: 1_767_225_600 }],
    ['2026-01-01T00:00:00Z', { utime: 1_767_225_600 }],
    ['2026-01-01T03:00:00+03:00', { utime: 1_767_225_600 }],
  ])('%s', (text, start) => expect(parseStart(text)).toEqual(start));

  it.each(['', '0', '-1', 'tail', '2026-13-01', '01.01.2026', '12345678901'])('refuses %j', (text) => {
    expect(() => parseStart(text)).toThrow(StartPointError);
    expect(() => parseStart(text)).toThrow('give head, genesis, a masterchain seqno, Unix seconds or an ISO date');
  });

  it('is shown as it can be written', () => {
    for (const text of ['head', 'genesis', '7', '2026-01-01T00:00:00.000Z'])
      expect(startText(parseStart(text))).toBe(text);
  });
});
