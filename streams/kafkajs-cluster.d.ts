/**
 * The part of kafkajs below its consumer. Its types exist in the package, the export does not; the version is pinned
 * exactly, and the conformance suite runs through this door.
 */
declare module 'kafkajs/src/cluster/index.js' {
  import type { Broker, ISocketFactory, KafkaConfig, Logger, MessageSetEntry, RecordBatchEntry } from 'kafkajs';

  export interface ClusterOptions extends Pick<KafkaConfig, 'ssl' | 'sasl' | 'clientId' | 'retry'> {
    brokers: string[];
    logger: Logger;
    socketFactory: ISocketFactory;
    connectionTimeout: number;
    requestTimeout: number;
    enforceRequestTimeout: boolean;
    metadataMaxAge: number;
    allowAutoTopicCreation: boolean;
    maxInFlightRequests: number | null;
    isolationLevel: number;
  }

  export interface FetchResponse {
    responses: {
      topicName: string;
      partitions: {
        partition: number;
        highWatermark: string;
        messages: ((RecordBatchEntry | MessageSetEntry) & { isControlRecord?: boolean })[];
      }[];
    }[];
  }

  interface FetchingBroker extends Omit<Broker, 'fetch'> {
    fetch(
      request: Parameters<Broker['fetch']>[0] & { replicaId: number; isolationLevel: number },
    ): Promise<FetchResponse>;
    deleteRecords(request: {
      topics: { topic: string; partitions: { partition: number; offset: string }[] }[];
    }): Promise<unknown>;
  }

  export default class Cluster {
    constructor(options: ClusterOptions);
    readonly brokerPool: { findConnectedBroker(): Promise<Broker> };
    connect(): Promise<void>;
    disconnect(): Promise<void>;
    addTargetTopic(topic: string): Promise<void>;
    refreshMetadataIfNecessary(): Promise<void>;
    findLeaderForPartitions(topic: string, partitions: number[]): Record<string, number[]>;
    findTopicPartitionMetadata(topic: string): { partitionId: number }[];
    findBroker(node: { nodeId: string }): Promise<FetchingBroker>;
    findGroupCoordinator(group: { groupId: string }): Promise<FetchingBroker>;
    fetchTopicsOffset(
      topics: { topic: string; partitions: { partition: number }[]; fromBeginning?: boolean; fromTimestamp?: number }[],
    ): Promise<{ topic: string; partitions: { partition: number; offset: string }[] }[]>;
  }
}

/** What a connection has not sent yet and what it awaits. */
declare module 'kafkajs/src/network/requestQueue/index.js' {
  import type { Logger } from 'kafkajs';

  interface PushedRequest {
    entry: { correlationId: number; resolve: (answer: unknown) => void };
    expectResponse: boolean;
    sendRequest: () => void;
  }

  export default class RequestQueue {
    constructor(options: {
      maxInFlightRequests: number | null;
      requestTimeout: number;
      enforceRequestTimeout: boolean;
      clientId: string;
      broker: string;
      logger: Logger;
      isConnected: () => boolean;
    });
    readonly pending: unknown[];
    push(request: PushedRequest): void;
    fulfillRequest(response: { correlationId: number; payload: Buffer; size: number }): void;
    maybeThrottle(ms: number): void;
    scheduleCheckPendingRequests(): void;
  }
}
