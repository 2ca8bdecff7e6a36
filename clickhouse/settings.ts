import type { BaseLogger } from 'pino';
import type { Settings } from './connection.ts';

export type ClickHouseLogger = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;

/** Longest statement. A thousand keys written as literals pass the server's default of 256 KiB. */
export const MOST_SQL_BYTES = 16 * 1024 * 1024;
/** For the format that is written behind a statement. */
const FORMAT_BYTES = 1024;

/** Of every request. */
export const COMMON_SETTINGS: Settings = {
  // Integers of 64 bits and more, and Decimals, would lose digits as JSON numbers.
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  max_query_size: String(MOST_SQL_BYTES + FORMAT_BYTES),
  // The third time that an expression comes the engine would make machine code of it, 50 ms of CPU each: more than any
  // of ours saves, for they compare bytes and hash them. `verify` of 132 steps took 1.4 s of the server with it, 0.9 s
  // without.
  compile_expressions: 0,
  compile_aggregate_expressions: 0,
  compile_sort_description: 0,
};

/** Of every read. */
export const QUERY_SETTINGS: Settings = {
  // Point reads gain nothing from more threads and lose by starting them.
  max_threads: 1,
  // The status line is sent when the result is whole, so an error can never hide inside a result. Held in memory up
  // to the buffer's size: 0.1 ms of server CPU for a result of 1 MB, against 1.8 ms through the default temporary file.
  wait_end_of_query: 1,
  http_response_buffer_size: String(4 * 1024 * 1024),
  result_overflow_mode: 'throw',
};

/**
 * Of every insert. One block a request, so that an insert of up to a million rows of one partition is atomic, and
 * synchronous, so that an answered insert is in the table.
 */
export const INSERT_SETTINGS: Settings = {
  async_insert: 0,
  wait_end_of_query: 1,
  insert_deduplicate: 1,
  deduplicate_blocks_in_dependent_materialized_views: 1,
  max_insert_block_size: '1048449',
  min_insert_block_size_rows: '1048449',
  min_insert_block_size_bytes: String(1024 * 1024 * 1024),
  max_insert_threads: '1',
};
