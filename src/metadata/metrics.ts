import { Counter, type Registry } from 'prom-client';
import type { DocumentEvent } from './worker.ts';

export interface DocumentMetrics {
  /** What became of an attempt to fetch a document. */
  settled(event: DocumentEvent): void;
}

const OUTCOMES = ['found', 'lost', 'away', 'dropped'] as const satisfies readonly DocumentEvent[];

export function createDocumentMetrics(registry: Registry): DocumentMetrics {
  const documents = new Counter({
    name: 'tonstream_documents_total',
    help: 'Attempts to fetch documents of tokens: found, lost (there is none), away (tried again later), dropped (too many wait)',
    labelNames: ['outcome'],
    registers: [registry],
  });
  for (const outcome of OUTCOMES) documents.inc({ outcome }, 0);
  return { settled: (outcome) => documents.inc({ outcome }) };
}
