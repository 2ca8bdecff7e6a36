import { encodeMissing } from '../../streams/missing.ts';
import { openLog } from '../../streams/open.ts';
import { topicNames, topicRetentionMs } from '../../streams/topics.ts';
import { parseAddress } from '../chain/address.ts';
import { ConfigError } from '../config.ts';
import { makeDataFolder } from './data-folder.ts';
import type { Running } from './running.ts';

/** Addresses of one command. */
const MOST_ADDRESSES = 10_000;

/**
 * `tonstream learn ADDRESS…`: has contracts asked of a liteserver by whoever follows the network into this log, also
 * one that is started later within a day. What they are is told from the next step on.
 * @throws {ConfigError} @throws {LogError} `writer_busy` while another such command writes
 */
export async function runLearn({ config, logger, shutdown, print }: Running, words: readonly string[]): Promise<void> {
  if (words.length === 0) throw new ConfigError('learn needs addresses');
  if (words.length > MOST_ADDRESSES) throw new ConfigError(`learn takes ${MOST_ADDRESSES} addresses at most`);
  const records = words.map((word) => {
    const account = parseAddress(word);
    if (account === null) throw new ConfigError(`${word} is no address`);
    return encodeMissing({ account, hash: null });
  });
  makeDataFolder(config);
  const log = await openLog(config, logger, shutdown.signal);
  shutdown.onClose('event log', () => log.close());
  const topic = topicNames(config.topicPrefix).wishes;
  await log.ensureTopic(topic);
  await log.trim(topic, await log.offsetAt(topic, Date.now() - topicRetentionMs(topic)));
  await log.append(topic, records);
  print(
    `${records.length} ${records.length === 1 ? 'account' : 'accounts'} to be asked for by who follows the network`,
  );
}
