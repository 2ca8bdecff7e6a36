/** The roles as processes of their own, with a Kafka broker and a ClickHouse server between them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../clickhouse/test-server.ts';
import { spread } from './api/client.ts';
import { readSequenceFacts, sequencePath } from './api/network.ts';
import { cutSequence } from './cut-sequence.ts';
import { createKafkaLocal, type KafkaLocal, kafkaMissing } from './kafka-local.ts';
import { metricOf } from './metrics.ts';
import {
  type Environment,
  hashesOfTables,
  type Program,
  runProgram,
  runToEnd,
  type Stack,
  startStack,
  temporaryFolder,
} from './stack.ts';
import { tableHashes } from './table-hashes.ts';
import { POSITIONS, positionName, serveFrom } from './window-positions.ts';
import { type Projected, projectFiles } from './windowed.ts';

const SEQUENCE = 'local-ton4j-2024_a';
const CUT = 100;
const LAST = 176;
const DATABASE = 'of_servers';

/** Requests of every endpoint; the answers must be the same to the byte. */
function requests(): string[] {
  const { blocks, transactions, messages } = readSequenceFacts(SEQUENCE);
  const paths = ['masterchainInfo', 'topAccountsByBalance?limit=1000'];
  for (const list of ['blocks', 'transactions', 'messages']) {
    for (const sort of ['asc', 'desc'])
      paths.push(`${list}?limit=1000&sort=${sort}`, `${list}?limit=5&cursor=&sort=${sort}`);
  }
  for (const { facts, mcSeqno } of spread(blocks, 8)) {
    paths.push(`blocks?root_hash=${facts.root_hash}`, `transactionsByMasterchainBlock?seqno=${mcSeqno}`);
    paths.push(`masterchainBlockShardState?seqno=${mcSeqno}`, `masterchainBlockShards?seqno=${mcSeqno}`);
  }
  for (const { facts, account } of spread(transactions, 12)) {
    paths.push(`transactions?account=${account}`, `adjacentTransactions?hash=${facts.hash}`);
    paths.push(`accountStates?address=${account}`, `addressBook?address=${account}`);
  }
  for (const { facts } of spread([...messages.values()], 8)) {
    paths.push(`transactionsByMessage?msg_hash=${facts.hash}`, `messages?body_hash=${facts.body_hash}`);
  }
  return paths;
}

const missing = kafkaMissing();

describe.skipIf(missing !== null)('Kafka and a ClickHouse server', () => {
  let folder: ReturnType<typeof temporaryFolder>;
  let kafka: KafkaLocal;
  let server: TestServer;
  let environment: Environment;
  let projector: Program;
  let api: Stack;
  /** The same chain over a log in a folder and its own ClickHouse. */
  let embedded: Projected;

  beforeAll(async () => {
    folder = temporaryFolder();
    const [first, second] = cutSequence(sequencePath(SEQUENCE), CUT, folder.path);
    kafka = await createKafkaLocal();
    await kafka.start();
    server = await startTestServer();
    environment = {
      KAFKA_BROKERS: kafka.address,
      CLICKHOUSE_URL: server.server.url,
      CLICKHOUSE_DATABASE: DATABASE,
      TONSTREAM_DATA_DIR: folder.path,
    };
    // Both begin on an empty database at once, as under docker compose.
    projector = runProgram(['project', '--metrics-port', '0'], environment);
    api = await startStack({ command: 'api', environment });
    await projector.printed(/projecting into of_servers/);
    await runToEnd(['import', first], environment);
    await api.caughtUp(CUT);
    await runToEnd(['import', second], environment);
    await api.caughtUp(LAST);
    embedded = await projectFiles([sequencePath(SEQUENCE)]);
  });

  afterAll(async () => {
    try {
      await api?.remove();
      await projector?.stop();
      await embedded?.remove();
    } finally {
      await server?.remove();
      await kafka?.remove();
      folder?.remove();
    }
  });

  it('make the same tables as an embedded log', async () => {
    const tables = await hashesOfTables(server.server.url, DATABASE);
    expect(Object.keys(tables).length).toBeGreaterThan(20);
    expect(tables).toEqual(await tableHashes(embedded.clickhouse));
  });

  /** The window of the API over Kafka holds everything. */
  it.each(POSITIONS.map((share) => [positionName(share), share] as const))(
    'make the same answers as an embedded log with %s',
    async (_, share) => {
      await api.windowed();
      const { folder: dataDir, url: clickhouseUrl, clickhouse } = embedded;
      const server = await serveFrom({ dataDir, clickhouseUrl, database: clickhouse.database }, share);
      for (const path of requests()) {
        const answer = async (base: string) => {
          const response = await fetch(`${base}/api/v3/${path}`);
          return [path, response.status, await response.text()];
        };
        expect(await answer(api.url)).toEqual(await answer(server.url));
      }
      await server.close();
    },
  );

  it('agree with the log, as verify sees it', async () => {
    expect(await runToEnd(['verify'], environment)).toMatch(/176 steps compared .*: 0 differences, 0 gaps/);
  });

  it('tell what the projector counts', async () => {
    const [url] = await projector.printed(/http:\S+(?=\/metrics)/);
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(metricOf(text, 'tonstream_projected_mc_seqno')).toBe(LAST);
    const counted = metricOf(text, 'tonstream_projected_total{kind="blocks"}');
    expect(counted).toBe((await api.status()).rows.blocks);
  });

  it('tell at the API alone how far the tables are', async () => {
    const text = await (await fetch(`${api.url}/metrics`)).text();
    expect(metricOf(text, 'tonstream_projected_mc_seqno')).toBe(LAST);
  });

  it('hold one chain: another is refused', async () => {
    const output = await runToEnd(['import', sequencePath('everscale-1459995')], environment, 1);
    expect(output).toMatch(/^tonstream import: .*nothing was imported$/m);
    expect((await api.status()).log.mc_seqno).toBe(LAST);
  });
});
