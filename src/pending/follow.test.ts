import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import { encodePendingChange } from '../../streams/pending-trace.ts';
import { followPending } from './follow.ts';
import { createPendingStore } from './store.ts';

it.each([0, 1, 300])('has read what was in the topic, %i records, before it says so', async (count) => {
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-follow-pending-'));
  const log = openEmbeddedLog({ folder });
  const ended = new AbortController();
  try {
    const topic = 'pending-traces';
    await log.ensureTopic(topic);
    const hashes = Array.from({ length: count }, (_, i) => Buffer.alloc(32, `${i} `));
    const changes = hashes.map((hashNorm) => ({ kind: 'invalidated', hashNorm, reason: 'expired' }) as const);
    if (count > 0)
      await log.append(
        topic,
        changes.map((change) => encodePendingChange(change, 1)),
      );
    const store = createPendingStore();
    const report = (error: unknown): void => expect.unreachable(String(error));
    const follower = followPending({ log, topic, store, continuous: false, report });
    const following = follower.run(ended.signal);
    await follower.past;
    expect(hashes.filter((hash) => !store.hasEnded(hash))).toEqual([]);
    ended.abort();
    await following;
  } finally {
    ended.abort();
    await log.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
