/** boards/ held to what the service tells; their SQL is run in test/sql.test.ts. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { requestDurations } from '../src/api/api-metrics.ts';
import { createSqlMetrics } from '../src/api/sql/metrics.ts';
import { createFeedMetrics } from '../src/feed/metrics.ts';
import { watchServers } from '../src/ingest-metrics.ts';
import { createDocumentMetrics } from '../src/metadata/metrics.ts';
import { createMetrics } from '../src/metrics.ts';
import { createPendingMetrics } from '../src/pending/metrics.ts';
import { createTvmMetrics } from '../src/tvm-metrics.ts';
import { createWebhookMetrics } from '../src/webhooks/metrics.ts';
import { showPool } from '../src/workers/pool.ts';
import { alerts, boards, expressions, labelsIn, metricsIn } from './boards.ts';

/** What every role of the service counts, and Prometheus itself: the labels by name. */
function known(): Map<string, readonly string[]> {
  const { registry } = createMetrics();
  requestDurations(registry);
  createSqlMetrics(registry);
  createFeedMetrics(registry);
  createDocumentMetrics(registry);
  createPendingMetrics(registry, () => 0);
  createTvmMetrics(registry);
  createWebhookMetrics(registry);
  watchServers(registry, () => ({}));
  showPool(registry, new Map());
  const told = new Map<string, readonly string[]>([
    ['up', []],
    ['ALERTS', ['alertstate']],
  ]);
  for (const metric of registry.getMetricsAsArray()) {
    const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : [];
    if (String(metric.type) !== 'histogram') told.set(metric.name, labels);
    else {
      told.set(`${metric.name}_bucket`, [...labels, 'le']);
      for (const suffix of ['sum', 'count']) told.set(`${metric.name}_${suffix}`, labels);
    }
  }
  return told;
}

it.each(expressions)('"%s" asks for metrics and labels that there are', (_, expression) => {
  const told = known();
  const names = metricsIn(expression);
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !told.has(name))).toEqual([]);
  // Prometheus adds these by itself.
  const labels = new Set(['job', 'instance', ...names.flatMap((name) => told.get(name) ?? [])]);
  expect(labelsIn(expression).filter((label) => !labels.has(label))).toEqual([]);
  expect([...expression].filter((one) => '([{'.includes(one)).length).toBe(
    [...expression].filter((one) => ')]}'.includes(one)).length,
  );
});

it('rates are of counters alone', () => {
  for (const [title, expression] of expressions) {
    for (const [, name] of expression.matchAll(/\b(?:rate|increase)\((\w+)/g)) {
      expect([title, name]).toEqual([title, expect.stringMatching(/(?:_total|_count|_bucket)$/)]);
    }
  }
});

it('alerts have names of their own, and their words name labels that are left', () => {
  expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
  for (const { expr, annotations } of alerts) {
    const used = [...`${annotations.summary} ${annotations.description}`.matchAll(/\$labels\.(\w+)/g)];
    // Of a sum that is not by a label none is left.
    if (used.length > 0) expect(expr).toMatch(/^(?:up|sum by \(job\))/);
  }
});

it('panels have ids and places of their own, and sources that are provisioned', () => {
  const sources = readFileSync(new URL('../boards/grafana/sources.yml', import.meta.url), 'utf8');
  for (const { panels } of boards) {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { datasource, gridPos, targets } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (const one of [datasource, ...targets.map((target) => target.datasource)]) {
        expect(sources).toContain(`uid: ${one.uid}\n    type: ${one.type}\n`);
      }
    }
  }
});

it('docker-compose.yml has the API ask the network that is ingested', () => {
  const compose = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
  const [ingest, api] = ['ingest', 'api'].map((role) =>
    new RegExp(`command: \\[${role}, --network, ("[^"]+")`).exec(compose),
  );
  expect(ingest?.[1]).toBeDefined();
  expect(api?.[1]).toBe(ingest?.[1]);
});

it('docker-compose.yml mounts files that there are', () => {
  const compose = readFileSync(new URL('../docker-compose.yml', import.meta.url), 'utf8');
  const mounted = [...compose.matchAll(/- (\.\/boards\/\S+?):/g)].map(([, path]) => path);
  expect(mounted.length).toBeGreaterThan(5);
  for (const path of mounted) expect(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')).not.toBe('');
});

it('sees a metric that is not there', () => {
  expect(metricsIn('sum by (kind) (rate(a_total{b="c d"}[5m])) > 1 and on () max(time() - x)')).toEqual([
    'a_total',
    'x',
  ]);
  expect(labelsIn('sum by (le, kind) (rate(a_total{b="c", d=~"e"}[5m]))')).toEqual(['b', 'd', 'le', 'kind']);
});
