/** What boards/ asks of Prometheus and of ClickHouse. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../boards/${name}`, import.meta.url), 'utf8'));

const source = z.object({ type: z.string(), uid: z.string() });
const promTarget = z.strictObject({
  refId: z.string(),
  datasource: source.extend({ type: z.literal('prometheus') }),
  expr: z.string(),
  legendFormat: z.string(),
});
const sqlTarget = z.strictObject({
  refId: z.string(),
  datasource: source.extend({ type: z.literal('grafana-clickhouse-datasource') }),
  editorType: z.literal('sql'),
  queryType: z.enum(['timeseries', 'table']),
  format: z.union([z.literal(0), z.literal(1)]),
  rawSql: z.string(),
});
const place = z.strictObject({ x: z.number(), y: z.number(), w: z.number(), h: z.number() });
const panel = z.object({
  id: z.number(),
  title: z.string().min(1),
  type: z.enum(['timeseries', 'stat', 'table']),
  datasource: source,
  gridPos: place,
  targets: z.array(z.union([promTarget, sqlTarget])).min(1),
});
const board = z.object({ uid: z.string(), title: z.string(), panels: z.array(panel).min(1) });
const alert = z.strictObject({
  alert: z.string().regex(/^[A-Z]\w+$/),
  expr: z.string(),
  for: z.string().regex(/^\d+[smh]$/),
  labels: z.strictObject({ severity: z.enum(['critical', 'warning', 'info']) }),
  annotations: z.strictObject({ summary: z.string(), description: z.string() }),
});
const group = z.strictObject({ name: z.string(), interval: z.string(), rules: z.array(alert).min(1) });

export const boards = ['chain', 'service'].map((name) => board.parse(read(`grafana/${name}.json`)));
/** A rule file of Prometheus: YAML, of which JSON is a part. */
export const alerts = z
  .strictObject({ groups: z.array(group).min(1) })
  .parse(read('alerts.json'))
  .groups.flatMap(({ rules }) => rules);

const targets = boards.flatMap(({ panels }) => panels.flatMap((one) => one.targets.map((target) => ({ one, target }))));

/** Every expression in PromQL, with the name of its panel or alert. */
export const expressions: readonly (readonly [string, string])[] = [
  ...targets.flatMap(({ one, target }) => ('expr' in target ? [[one.title, target.expr] as const] : [])),
  ...alerts.map((one) => [one.alert, one.expr] as const),
];

/** Every statement for ClickHouse, with the name and kind of its panel. */
export const statements = targets.flatMap(({ one, target }) =>
  'rawSql' in target ? [{ title: one.title, kind: one.type, sql: target.rawSql }] : [],
);

/** The statements that make the user whom Grafana reads as, each with its first words. */
export const readerStatements: readonly (readonly [string, string])[] = readFileSync(
  new URL('../boards/reader.sql', import.meta.url),
  'utf8',
)
  .replace(/^--.*$/gm, '')
  .split(';')
  .map((one) => one.trim())
  .filter(Boolean)
  .map((one) => [one.split(' ', 3).join(' '), one]);

/** As the data source of Grafana fills in the time range; seconds since 1970. */
export function withTimes(sql: string, from: number, to: number): string {
  const filled = sql.replace(
    /\$__timeFilter\(([\w.]+)\)/g,
    (_, column: string) => `${column} >= toDateTime(${from}) AND ${column} <= toDateTime(${to})`,
  );
  if (filled.includes('$')) throw new Error(`a macro that is not known: ${filled}`);
  return filled;
}

/** Names of the metrics in an expression: words that are no function, keyword, label or text. */
export function metricsIn(expression: string): string[] {
  const bare = expression
    .replace(/"[^"]*"/g, '""')
    .replace(/\{[^}]*\}/g, '')
    .replace(/\[\w+\]/g, '')
    .replace(/\b(?:by|on|without|ignoring)\s*\([^)]*\)/g, ' ');
  const words = [...bare.matchAll(/[a-zA-Z_][\w:]*(?=\s*(\()?)/g)];
  return words.filter(([word, call]) => call === undefined && !KEYWORDS.has(word)).map(([word]) => word);
}

/** Names of the labels that an expression matches or groups by. */
export function labelsIn(expression: string): string[] {
  const matched = [...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside]) =>
    [...inside.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label),
  );
  const grouped = [...expression.matchAll(/\bby\s*\(([^)]*)\)/g)].flatMap(([, inside]) => inside.split(/\s*,\s*/));
  return [...matched, ...grouped].filter(Boolean);
}

const KEYWORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'sum', 'max']);
