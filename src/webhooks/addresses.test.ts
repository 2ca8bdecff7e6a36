import { createSocket } from 'node:dgram';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { isPublic, lookupOf, publicNames } from './addresses.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A name server (RFC 1035) that gives each name one address of four bytes, and none of IPv6. */
async function nameServer(addressOf: (name: string) => readonly number[]) {
  const socket = createSocket('udp4');
  const asked: string[] = [];
  socket.on('message', (question, { port }) => {
    const end = question.indexOf(0, 12) + 5;
    const name = question.toString('latin1', 13, end - 5).replace(/[^a-z0-9]/g, '.');
    const isIPv4 = question.readUInt16BE(end - 4) === 1;
    asked.push(name);
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, ...addressOf(name)]);
    const head = Buffer.concat([
      question.subarray(0, 2),
      Buffer.from([0x81, 0x80, 0, 1, 0, Number(isIPv4), 0, 0, 0, 0]),
    ]);
    socket.send(Buffer.concat([head, question.subarray(12, end), ...(isIPv4 ? [answer] : [])]), port, '127.0.0.1');
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  closing.push(() => socket.close());
  const lookup = lookupOf({ isAllowed: isPublic, find: publicNames([`127.0.0.1:${socket.address().port}`]) });
  const look = (host: string, options: LookupOptions = { all: true }) =>
    new Promise<string | LookupAddress[]>((resolve, reject) => {
      lookup(host, options, (error, found) => (error === null ? resolve(found) : reject(error)));
    });
  return { look, asked };
}

describe('a name that a stranger gives', () => {
  it('is asked of name servers, which keep nobody else from looking names up', async () => {
    const { look, asked } = await nameServer(() => [93, 184, 215, 14]);
    expect(await look('a.example')).toEqual([{ address: '93.184.215.14', family: 4 }]);
    expect(await look('b.example', {})).toBe('93.184.215.14');
    expect(await look('c.example', { family: 4, all: true })).toHaveLength(1);
    expect(asked.sort()).toEqual(['a.example', 'a.example', 'b.example', 'b.example', 'c.example']);
  });

  it('leads nowhere private, whatever they say', async () => {
    const { look, asked } = await nameServer((name) => (name.startsWith('a') ? [10, 0, 0, 1] : [127, 0, 0, 1]));
    for (const name of ['a.example', 'b.example', 'localhost', 'my.localhost']) {
      await expect(look(name)).rejects.toThrow(`${name} leads to no public address`);
    }
    expect(asked).not.toContain('localhost');
    await expect(look('a.example', { family: 6, all: true })).rejects.toThrow();
  });
});
