/** Where the log of a soaked service is: in its folder, or on a real broker that is killed like everything else. */
import { join } from 'node:path';
import { openEmbeddedLog } from '../../streams/embedded.ts';
import { openKafkaLog } from '../../streams/kafka.ts';
import type { EventLog } from '../../streams/log.ts';
import { createKafkaLocal, type KafkaLocal } from '../kafka-local.ts';

export interface SoakedLog {
  /** Flags that lead a command there. */
  words: readonly string[];
  /** Another one of the same log, beside those of the service. */
  open(): EventLog;
  /** Null where the log is in the folder. */
  broker: KafkaLocal | null;
}

export function logIn(dataDir: string): SoakedLog {
  return { words: [], open: () => openEmbeddedLog({ folder: join(dataDir, 'log') }), broker: null };
}

/** On a broker that was started for it; removed by whoever asked for it. */
export async function logOnBroker(): Promise<SoakedLog> {
  const broker = await createKafkaLocal();
  await broker.start();
  const { address } = broker;
  return {
    words: ['--kafka-brokers', address],
    open: () => openKafkaLog({ brokers: [address], clientId: 'soak' }),
    broker,
  };
}
