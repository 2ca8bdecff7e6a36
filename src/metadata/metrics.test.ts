import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { metricOf } from '../../test/metrics.ts';
import { createDocumentMetrics } from './metrics.ts';

it('counts what became of documents, from none on', async () => {
  const registry = new Registry();
  const metrics = createDocumentMetrics(registry);
  metrics.settled('lost');
  const text = await registry.metrics();
  const counts = ['found', 'lost', 'away', 'dropped'].map((outcome) =>
    metricOf(text, `tonstream_documents_total{outcome="${outcome}"}`),
  );
  expect(counts).toEqual([0, 1, 0, 0]);
});
