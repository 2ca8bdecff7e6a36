import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ClickHouse, createClickHouse } from '../../clickhouse/client.ts';
import { migrate } from '../../clickhouse/migrate.ts';
import { MIGRATED, startMigratedServer } from '../../clickhouse/test-schema.ts';
import { silent, type TestServer } from '../../clickhouse/test-server.ts';
import { blockTransactions } from '../../src/chain/accounts.ts';
import { decodeBlock } from '../../src/chain/block.ts';
import { openBoc } from '../../src/chain/boc.ts';
import { hashKey } from '../../src/chain/hash.ts';
import type { Message } from '../../src/chain/model.ts';
import { readConfig } from '../../src/config.ts';
import { readSequence, sequenceFile } from '../../test/recorded-sequence.ts';
import { shelf } from '../../test/shelf.ts';
import { openEmbeddedLog } from '../embedded.ts';
import { importFiles } from '../ingest/import.ts';
import { topicNames } from '../topics.ts';
import { project } from './projector.ts';
import { createSenders } from './senders.ts';

const NAME = 'local-ton4j-2024_a';
const LOOKUP = 'reading messages sent before';
const { signal } = new AbortController();

/** Internal messages that the recording shows leaving, in order of their lt. */
function sentMessages(): Message[] {
  const blocks = readSequence(sequenceFile(NAME)).map(({ boc }) => decodeBlock(openBoc(Buffer.from(boc, 'base64'))));
  return blocks
    .flatMap((block) => [...blockTransactions(block)])
    .flatMap(({ outMsgs }) => outMsgs)
    .filter(({ kind }) => kind === 'internal')
    .sort((a, b) => Number(BigInt(a.createdLt ?? 0) - BigInt(b.createdLt ?? 0)));
}

/** The same message as if it had been created at another lt. */
function withCreatedLt(message: Message, createdLt: string): Message {
  return Object.create(message, { createdLt: { value: createdLt } });
}

describe.skipIf(shelf === null)('createSenders', () => {
  let server: TestServer;
  let tables: ClickHouse;

  beforeAll(async () => {
    server = await startMigratedServer();
    tables = createClickHouse({ url: server.server.url, database: MIGRATED, logger: silent });
    const log = openEmbeddedLog({ folder: `${server.folder}/log` });
    const topics = topicNames();
    await importFiles(log, topics, [sequenceFile(NAME)]);
    const { config } = readConfig([], {});
    await project({ log, topics, clickhouse: tables, config, logger: silent, stopAtEnd: true }, signal);
    await log.close();
  });
  afterAll(async () => {
    await tables.close();
    await server.remove();
  });

  /** The same tables, and what is asked of them. */
  function watched(): { clickhouse: ClickHouse; asked: string[] } {
    const asked: string[] = [];
    const query: ClickHouse['query'] = (sql, options) => {
      asked.push(options?.label ?? '');
      return tables.query(sql, options);
    };
    return { clickhouse: { ...tables, query }, asked };
  }

  it('finds after a restart what was sent before it', async () => {
    const messages = sentMessages();
    expect(messages.length).toBeGreaterThan(3);
    const found = await createSenders(watched().clickhouse, { droppedLt: '0' }).find(messages, 2 ** 31, signal);
    expect([...found.keys()].sort()).toEqual(messages.map(({ hash }) => hashKey(hash)).sort());
  });

  it('does not ask for what was created later than all that the tables had when it began', async () => {
    const [first] = sentMessages();
    const later = withCreatedLt(first, '999999999999999999');
    const { clickhouse, asked } = watched();
    const sent = createSenders(clickhouse, { droppedLt: '0' });
    expect((await sent.find([later], 2 ** 31, signal)).size).toBe(0);
    expect(asked).not.toContain(LOOKUP);
    await sent.find([first], 2 ** 31, signal);
    expect(asked).toContain(LOOKUP);
  });

  it('asks for what memory may have dropped', async () => {
    const newest = sentMessages().at(-1);
    if (newest === undefined) throw new Error('the recording has no messages');
    const database = 'emptied';
    const other = tables.withDatabase(database);
    await migrate({ clickhouse: other, logger: silent });
    const memory = { droppedLt: '0' };
    const asked: string[] = [];
    // Empty when it began, like a projection from the first step on.
    let clickhouse = other;
    const query: ClickHouse['query'] = (sql, options) => {
      asked.push(options?.label ?? '');
      return clickhouse.query(sql, options);
    };
    const sent = createSenders({ ...other, query }, memory);
    expect((await sent.find([newest], 2 ** 31, signal)).size).toBe(0);
    expect(asked).not.toContain(LOOKUP);
    clickhouse = tables;
    memory.droppedLt = newest.createdLt ?? '0';
    expect((await sent.find([newest], 2 ** 31, signal)).size).toBe(1);
    await other.close();
  });
});
