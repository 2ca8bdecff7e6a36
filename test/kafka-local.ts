import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { shelf } from './shelf.ts';

const run = promisify(execFile);

/** A real broker of one node in a folder of its own. */
export interface KafkaLocal {
  /** `127.0.0.1:port`, the same over restarts. */
  address: string;
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

/** Why no broker can be started here, null when one can. In CI the lack of one is a failure. */
export function kafkaMissing(): string | null {
  const lacks = (program: string): boolean => spawnSync(program, ['-version'], { stdio: 'ignore' }).error !== undefined;
  let what: string | null = null;
  if (shelf === null) what = 'the test tools are not there (set TONSTREAM_SHELF)';
  else if (lacks('java')) what = 'java is not installed';
  else if (lacks('mvn')) what = 'mvn is not installed';
  if (what !== null && process.env.CI) throw new Error(`tests against a Kafka broker cannot run: ${what}`);
  if (what !== null) process.stderr.write(`skipped: tests against a Kafka broker: ${what}\n`);
  return what;
}

/**
 * Two neighbouring free ports: the broker's, and its controller's after it. Below those that systems give to outgoing
 * connections, one of which might take them while the broker is away.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 20_000);
    if ((await isFree(port)) && (await isFree(port + 1))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

export async function createKafkaLocal(): Promise<KafkaLocal> {
  if (shelf === null) throw new Error('no test tools');
  const tool = join(shelf, 'tools', 'kafka-local');
  const folder = mkdtempSync(join(tmpdir(), 'tonstream-kafka-'));
  const port = await freePort();
  const call = async (command: string): Promise<void> => {
    await run(tool, [command, '--data', folder, '--port', String(port)], {
      timeout: 180_000,
      env: { ...process.env, KAFKA_LOCAL_TIMEOUT: '170' },
    });
  };
  return {
    address: `127.0.0.1:${port}`,
    start: () => call('start'),
    kill: () => call('kill'),
    async remove() {
      await call('stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
