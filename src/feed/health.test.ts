import { expect, it } from 'vitest';
import { useFedChain } from '../../test/feed-chain.ts';

const fed = useFedChain();
const NAMES = ['ton-trace-emulator', 'event-classifier', 'ton-trace-ttl-tracker'];

interface Health {
  components: Record<string, { error: string }>;
}

async function health() {
  const response = await fetch(`http://127.0.0.1:${fed.server.port}/api/streaming/healthz`, {
    signal: AbortSignal.timeout(10_000),
  });
  return { status: response.status, body: (await response.json()) as Health };
}

it('tells of all components of the protocol how old the newest step is', async () => {
  await fed.start(5);
  const { status, body } = await health();
  expect(status).toBe(503);
  expect(Object.keys(body)).toEqual(['ok', 'now', 'components']);
  expect(Object.keys(body.components)).toEqual(NAMES);
  for (const component of Object.values(body.components)) {
    expect(component).toEqual({
      ok: false,
      error: expect.stringMatching(/^the newest step is \d+ s old$/),
      last_finalized_mc_block_time: expect.any(Number),
      finalized_age_seconds: expect.any(Number),
    });
  }
});

it('is not well where the newest step cannot be read, and says why', async () => {
  await fed.start(5);
  fed.chain.source.steps = async () => {
    throw new Error('the store is away');
  };
  const failed = { ok: false, error: 'the newest step cannot be read: the store is away' };
  expect(await health()).toEqual({
    status: 503,
    body: { ok: false, now: expect.any(Number), components: Object.fromEntries(NAMES.map((name) => [name, failed])) },
  });
});

it('waits two seconds for the newest step and no longer', async () => {
  await fed.start(5);
  fed.chain.source.steps = () => new Promise(() => undefined);
  const { status, body } = await health();
  expect(status).toBe(503);
  expect(body.components['event-classifier'].error).toMatch(
    /^the newest step cannot be read: .*(within 2000 ms|timeout)/,
  );
});
