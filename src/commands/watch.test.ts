import { afterEach, expect, it } from 'vitest';
import { type FeedServer, serveFeed } from '../../test/feed-server.ts';
import { createFeedSource } from '../../test/feed-source.ts';
import { runWatch } from './watch.ts';

let server: FeedServer | null = null;

afterEach(async () => {
  await server?.close();
  server = null;
});

function watch(port: number, from: string | undefined, addresses: string[] = []) {
  const lines: string[] = [];
  const complaints: string[] = [];
  const stop = new AbortController();
  const ended = runWatch({ host: '127.0.0.1', port, from }, addresses, {
    print: (line) => void lines.push(line),
    stderr: { write: (text: string) => complaints.push(text) > 0 },
    signal: stop.signal,
  });
  return { lines, complaints, stop: () => stop.abort(), ended };
}

it('prints what happens, and goes on where it was stopped', async () => {
  const chain = createFeedSource('private');
  chain.advance(chain.steps[40]);
  server = await serveFeed(chain);
  const hashes = (to: number): string[] =>
    chain.steps
      .slice(0, to + 1)
      .flatMap((step) => chain.transactionsOf(step).map(({ transaction }) => transaction.hash.toString('base64')));
  const told = (lines: string[]): string[] => lines.flatMap((line) => line.match(/[\w+/]{43}=$/)?.[0] ?? []);

  const first = watch(server.port, 'genesis');
  await expect.poll(() => first.lines.includes('— up to date —')).toBe(true);
  first.stop();
  expect(await first.ended).toBe(0);
  expect(told(first.lines)).toEqual(hashes(40));
  const cursor = /--from (\S+)$/.exec(first.lines.at(-1) ?? '')?.[1];

  chain.advance(chain.steps[60]);
  const second = watch(server.port, cursor);
  await expect.poll(() => second.lines.includes('— up to date —')).toBe(true);
  second.stop();
  await second.ended;
  expect(told(second.lines)).toEqual(hashes(60).slice(hashes(40).length));
});

it('knows where it began before it has heard anything: what comes while it is cut off is not lost', async () => {
  const chain = createFeedSource('private');
  chain.advance(chain.steps[10]);
  server = await serveFeed(chain);
  const watched = `0:${'1'.repeat(64)}`;
  const listener = watch(server.port, undefined, [watched]);
  await expect.poll(() => server?.streaming.feed.figures.lines).toBe(1);
  // The answer is read.
  await new Promise((resolve) => setTimeout(resolve, 100));
  listener.stop();
  expect(await listener.ended).toBe(0);
  expect(listener.lines).toEqual([
    expect.stringMatching(new RegExp(`^to go on: tonstream watch ${watched} --port ${server.port} --from \\S+$`)),
  ]);
});

it('begins at a time, as Unix seconds or as a date, which is UTC where it names no zone', async () => {
  const chain = createFeedSource('private');
  chain.advance(chain.steps[60]);
  server = await serveFeed(chain);
  const [{ transaction }] = chain.transactionsOf(chain.steps[55]);
  const date = new Date(transaction.now * 1000).toISOString();
  const heard: string[][] = [];
  for (const from of [`${transaction.now}`, date, date.slice(0, 19)]) {
    const listener = watch(server.port, from);
    await expect.poll(() => listener.lines.includes('— up to date —')).toBe(true);
    listener.stop();
    expect(await listener.ended).toBe(0);
    expect(listener.complaints).toEqual([]);
    heard.push(listener.lines.slice(0, listener.lines.indexOf('— up to date —')));
  }
  expect(heard[0][0].startsWith(date.replace('T', ' ').slice(0, 19))).toBe(true);
  expect(heard[1]).toEqual(heard[0]);
  expect(heard[2]).toEqual(heard[0]);
});

it('says what the service refuses, and tries again when there is none', async () => {
  const chain = createFeedSource('private');
  chain.advance(chain.steps[1]);
  server = await serveFeed(chain);
  const refused = watch(server.port, 'nonsense');
  expect(await refused.ended).toBe(1);
  expect(refused.complaints).toEqual(['tonstream watch: cursor is not one of this service: give it as it came\n']);
  const nobody = watch(1, undefined, [`0:${'1'.repeat(64)}`]);
  await expect.poll(() => nobody.complaints.length).toBeGreaterThan(1);
  nobody.stop();
  expect(await nobody.ended).toBe(0);
  expect(nobody.complaints[0]).toContain('nothing listens there; trying again');
});
