import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { isSecret, messageId, newSecret, signedHeaders } from './signature.ts';

it('signs as the published client of Standard Webhooks verifies', () => {
  const secret = newSecret();
  const body = Buffer.from('{"type":"block","text":"жö"}');
  const now = Math.floor(Date.now() / 1000);
  const headers = signedHeaders(secret, 'msg', now, body);
  expect(new Webhook(secret).verify(body.toString(), headers)).toEqual(JSON.parse(body.toString()));
  expect(() => new Webhook(newSecret()).verify(body.toString(), headers)).toThrow();
  expect(() => new Webhook(secret).verify(`${body.toString()} `, headers)).toThrow();
  expect(() => new Webhook(secret).verify(body.toString(), signedHeaders(secret, 'msg', now - 3600, body))).toThrow();
});

it('tells secrets from other texts', () => {
  const of = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
  expect([newSecret(), of(24), of(64)].every(isSecret)).toBe(true);
  expect([of(23), of(65), 'whsec_', 'secret', `${of(24)} `, of(24).slice(6)].some(isSecret)).toBe(false);
});

it('names a message by all events in it', () => {
  expect(messageId(['a'])).toBe('a');
  expect(messageId(['a', 'b'])).toBe(messageId(['a', 'b']));
  expect(new Set([messageId(['a', 'b']), messageId(['b', 'a']), messageId(['a', 'b', 'c']), 'a']).size).toBe(4);
});
