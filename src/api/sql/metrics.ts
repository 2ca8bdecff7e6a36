import { Counter, Histogram, type Registry } from 'prom-client';

export interface SqlMetrics {
  /** `outcome`: ok, aborted, failed, or the status of the refusal. */
  finished(format: string, outcome: string, ms: number): void;
  read(rows: number): void;
  /** Somebody took too long to read an answer. */
  cutOff(): void;
}

export function createSqlMetrics(registry: Registry): SqlMetrics {
  const registers = [registry];
  const seconds = new Histogram({
    name: 'tonstream_sql_seconds',
    help: 'Duration of queries of SQL, the wait for their turn included',
    labelNames: ['format', 'outcome'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const rows = new Counter({ name: 'tonstream_sql_rows_read_total', help: 'Rows read by queries of SQL', registers });
  const cuts = new Counter({
    name: 'tonstream_sql_cut_off_total',
    help: 'Answers of SQL and exports whose clients took too long to read them',
    registers,
  });
  return {
    finished: (format, outcome, ms) => seconds.observe({ format, outcome }, ms / 1000),
    read: (count) => rows.inc(count),
    cutOff: () => cuts.inc(),
  };
}
