import type { Admin } from 'kafkajs';
import type { Queries } from './kafka-reader.ts';
import { LogError } from './log.ts';
import { topicRetentionMs } from './topics.ts';

export interface TopicOptions {
  replicationFactor: number;
  /** Largest batch, as it is sent. */
  maxBatchBytes: number;
}

/**
 * Makes a topic of one partition unless it is there. Tries until the brokers know it: one that has just been made, by
 * this process or another, may have no leader yet, or not be known to the broker that is asked. Throws `LogError` when
 * the brokers refuse for good, when patience ends, and for a topic of several partitions.
 */
export async function ensureTopic(
  topic: string,
  queries: Pick<Queries, 'run'>,
  openAdmin: () => Pick<Admin, 'connect' | 'createTopics' | 'disconnect'>,
  options: TopicOptions,
): Promise<void> {
  const count = await queries.run(async (link) => {
    const found = await link.partitions(topic);
    if (found > 0) return found;
    await makeTopic(topic, openAdmin(), options);
    const made = await link.partitions(topic);
    if (made === 0) throw new Error(`topic ${topic} was made and is not known yet`);
    return made;
  });
  if (count === 1) return;
  // Nothing that comes back by itself: who waits for a log that is away does not wait for this.
  const advice = 'delete it, or give another --topic-prefix';
  throw new LogError('corrupt', `topic ${topic} has ${count} partitions, the log needs exactly one: ${advice}`);
}

/** One try; good, too, when somebody else has made it. */
async function makeTopic(
  topic: string,
  admin: Pick<Admin, 'connect' | 'createTopics' | 'disconnect'>,
  { replicationFactor, maxBatchBytes }: TopicOptions,
): Promise<void> {
  const configEntries = [
    { name: 'max.message.bytes', value: String(maxBatchBytes) },
    { name: 'retention.ms', value: String(topicRetentionMs(topic)) },
    { name: 'retention.bytes', value: '-1' },
    { name: 'cleanup.policy', value: 'delete' },
  ];
  try {
    await admin.connect();
    const topics = [{ topic, numPartitions: 1, replicationFactor, configEntries }];
    // Whoever waits for leaders is refused where a broker has not heard of the topic yet.
    await admin.createTopics({ waitForLeaders: false, topics });
  } catch (error) {
    const reason = lastingRefusal(error);
    if (reason === null) throw error;
    throw new LogError('unavailable', `topic ${topic} could not be made: ${reason}`, { cause: error });
  } finally {
    await admin.disconnect();
  }
}

/** Why the brokers will not, however often they are asked; null for what may go better next time. */
function lastingRefusal(error: unknown): string | null {
  const refusals: readonly unknown[] = hasErrors(error) ? error.errors : [error];
  // By its fields: Node does not see the classes of kafkajs' errors among what the module exports.
  const lasting = refusals.find((at) => at instanceof Error && 'code' in at && 'retriable' in at && !at.retriable);
  return lasting instanceof Error ? lasting.message : null;
}

/** An answer about several topics. */
function hasErrors(error: unknown): error is { errors: readonly unknown[] } {
  return error instanceof Error && 'errors' in error && Array.isArray(error.errors);
}
