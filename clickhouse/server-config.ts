import { join } from 'node:path';

export interface ServerLimits {
  /** Bound of everything the engine allocates, bytes. */
  maxMemoryBytes: number;
  /** Bound of the mark cache, bytes. The engine's own default is 5 GiB. */
  markCacheBytes: number;
  /** What its file of users holds (reader.ts); the engine's own user alone without it. */
  users?: string;
}

// By their names in its folder, where it runs: with `&`, `<` or a backslash in the path of one the engine does not start.
const CONFIG = 'server.xml';
const USERS = 'users.xml';

/** Merges at a time. The engine's default of 32 is made for big servers and would take the cores from the API. */
const BACKGROUND_THREADS = 2;
const MERGES_PER_THREAD = 2;
/** Merges give way to inserts and queries: the newest step is waited for, a merge is not. */
const MERGE_NICENESS = 5;

/**
 * How long a table that has nothing to merge waits before it looks again, at first; the engine's own 0.1 s is made for
 * few tables, and we have more than a hundred a database. Each insert, and each merge that ends, makes its table look at
 * once. With it, and without looking for statistics of columns, a server of four databases took 2.4 % of a core at rest,
 * not 4 %.
 */
const LOOKS_AGAIN_SECONDS = 3;

/**
 * What keeps the files of a part few. At the head each step makes a part in every table, and files are what it costs
 * most on ext4 without a journal, which looks past the inodes of files deleted in the last minutes one by one: 46 ms of
 * system time a step there beside a busy machine, 10 ms on tmpfs. Without `columns_substreams.txt` and
 * `serialization.json` the same steps took 10 % less CPU of the server.
 */
const FEW_FILES = `<write_marks_for_substreams_in_compact_parts>0</write_marks_for_substreams_in_compact_parts>
    <ratio_of_defaults_for_sparse_serialization>1</ratio_of_defaults_for_sparse_serialization>
    <serialization_info_version>basic</serialization_info_version>`;

/**
 * Nothing of ours asks for statistics of columns, which the engine would otherwise make of every column when it merges
 * parts. Without them a merged part has a file fewer and takes 3 % less of the disk; merges, inserts and point reads took
 * as much CPU as with them.
 */
const NO_STATISTICS = `<auto_statistics_types></auto_statistics_types>
    <refresh_statistics_interval>0</refresh_statistics_interval>`;

/**
 * Bytes of its disk that the engine leaves to others: with less it refuses inserts and merges, which are tried again.
 * The engine of the chdb package takes a write that the disk refuses for done (`write-failures.ts`), so it must not
 * come to that.
 */
export const KEPT_FREE_BYTES = 64 * 1024 * 1024;

/**
 * The engine's configuration file. With so few background slots the merge settings that count free slots must come
 * down too: their defaults (8, 20, 25) exceed the 4 slots there are, which would keep every merge small and hold
 * back all mutations.
 */
export function serverConfigXml(limits: ServerLimits): string {
  const users = limits.users === undefined ? '' : `\n  <users_config>${USERS}</users_config>`;
  return `<clickhouse>${users}
  <logger><level>none</level></logger>
  <max_server_memory_usage>${limits.maxMemoryBytes}</max_server_memory_usage>
  <mark_cache_size>${limits.markCacheBytes}</mark_cache_size>
  <index_mark_cache_size>${limits.markCacheBytes}</index_mark_cache_size>
  <primary_index_cache_size>${limits.markCacheBytes}</primary_index_cache_size>
  <uncompressed_cache_size>0</uncompressed_cache_size>
  <background_pool_size>${BACKGROUND_THREADS}</background_pool_size>
  <background_merges_mutations_concurrency_ratio>${MERGES_PER_THREAD}</background_merges_mutations_concurrency_ratio>
  <background_schedule_pool_size>4</background_schedule_pool_size>
  <background_common_pool_size>2</background_common_pool_size>
  <background_move_pool_size>1</background_move_pool_size>
  <background_fetches_pool_size>1</background_fetches_pool_size>
  <background_processing_pool_thread_sleep_seconds_if_nothing_to_do>${LOOKS_AGAIN_SECONDS}</background_processing_pool_thread_sleep_seconds_if_nothing_to_do>
  <storage_configuration><disks><default>
    <keep_free_space_bytes>${KEPT_FREE_BYTES}</keep_free_space_bytes>
  </default></disks></storage_configuration>
  <max_thread_pool_size>1000</max_thread_pool_size>
  <os_threads_nice_value_merge_mutate>${MERGE_NICENESS}</os_threads_nice_value_merge_mutate>
  <merge_tree>
    ${FEW_FILES}
    ${NO_STATISTICS}
    <number_of_free_entries_in_pool_to_lower_max_size_of_merge>1</number_of_free_entries_in_pool_to_lower_max_size_of_merge>
    <number_of_free_entries_in_pool_to_execute_mutation>1</number_of_free_entries_in_pool_to_execute_mutation>
    <number_of_free_entries_in_pool_to_execute_optimize_entire_partition>1</number_of_free_entries_in_pool_to_execute_optimize_entire_partition>
  </merge_tree>
</clickhouse>
`;
}

/**
 * Arguments of `clickhouse local` that make it an HTTP server, in the folder of the server. The second statement reads
 * standard input and so holds the engine until the supervisor closes it.
 */
export function serverArguments(paths: Pick<ServerPaths, 'data'>, port: number): string[] {
  return [
    'clickhouse',
    `--path=${paths.data}`,
    `--config-file=${CONFIG}`,
    `--http_port=${port}`,
    '--listen_host=127.0.0.1',
    "--query=SYSTEM START LISTEN HTTP; SELECT count() FROM file('-', 'LineAsString', 'l String') FORMAT Null",
  ];
}

export interface ServerPaths {
  /** The engine's own directory. */
  data: string;
  config: string;
  users: string;
  /** Decimal port number of the last start. */
  port: string;
  /** Who supervises the server of this folder. */
  owner: string;
}

export function serverPaths(folder: string): ServerPaths {
  return {
    data: join(folder, 'data'),
    config: join(folder, CONFIG),
    users: join(folder, USERS),
    port: join(folder, 'port'),
    owner: join(folder, 'owner.json'),
  };
}
