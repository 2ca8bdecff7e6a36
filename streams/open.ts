import { join } from 'node:path';
import type { Config } from '../src/config.ts';
import { openEmbeddedLog } from './embedded.ts';
import type { KafkaLogger } from './kafka-connection.ts';
import type { EventLog } from './log.ts';

/** The settings that say where the log is. */
export type LogConfig = Pick<
  Config,
  'dataDir' | 'kafkaBrokers' | 'kafkaTls' | 'kafkaUsername' | 'kafkaPassword' | 'kafkaReplication'
>;

/** Folder of the embedded log in the data folder. */
export function logFolder(config: Pick<Config, 'dataDir'>): string {
  return join(config.dataDir, 'log');
}

/**
 * The log of the configuration: on the brokers when there are any, else embedded in the data folder.
 * @param ending from its abort on brokers that do not answer are not waited for
 * @throws {LogError} `unavailable`
 */
export async function openLog(config: LogConfig, logger?: KafkaLogger, ending?: AbortSignal): Promise<EventLog> {
  const { kafkaBrokers: brokers, kafkaUsername: username, kafkaPassword: password } = config;
  if (brokers === undefined || brokers.length === 0) return openEmbeddedLog({ folder: logFolder(config) });
  // Loaded where it is used: that takes each process and thread 50 ms.
  const { openKafkaLog } = await import('./kafka.ts');
  return openKafkaLog({
    brokers,
    clientId: 'tonstream',
    ssl: config.kafkaTls,
    replicationFactor: config.kafkaReplication,
    ...(username === undefined ? {} : { sasl: { mechanism: 'scram-sha-512', username, password: password ?? '' } }),
    ...(logger === undefined ? {} : { logger }),
    ...(ending === undefined ? {} : { ending }),
  });
}
