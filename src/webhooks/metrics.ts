import { Counter, Gauge, type Registry } from 'prom-client';

/** What is counted of webhooks. */
export interface WebhookMetrics {
  /** Webhooks that this process delivers to, and how many of them fail. */
  delivering(count: number, failing: number): void;
  /** An attempt ended. */
  attempted(outcome: 'taken' | 'refused' | 'away'): void;
  /** Notifications that were taken. */
  delivered(count: number): void;
  /** An event was refused too often. */
  buried(): void;
  /** A webhook stands still because it has as many dead letters as it may have. */
  full(): void;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const registers = [registry];
  const hooks = new Gauge({ name: 'tonstream_webhooks', help: 'Webhooks that are delivered to', registers });
  const failing = new Gauge({
    name: 'tonstream_webhooks_failing',
    help: 'Webhooks whose last attempt has failed',
    registers,
  });
  const attempts = new Counter({
    name: 'tonstream_webhook_attempts_total',
    help: 'Requests to webhooks, by what became of them',
    labelNames: ['outcome'],
    registers,
  });
  const delivered = new Counter({
    name: 'tonstream_webhook_events_total',
    help: 'Notifications that webhooks have taken',
    registers,
  });
  const buried = new Counter({
    name: 'tonstream_webhook_dead_letters_total',
    help: 'Events that a webhook has refused too often',
    registers,
  });
  const full = new Counter({
    name: 'tonstream_webhook_full_total',
    help: 'Refused events for which a webhook waits because it has as many dead letters as it may have',
    registers,
  });
  return {
    delivering(count, failingCount) {
      hooks.set(count);
      failing.set(failingCount);
    },
    attempted: (outcome) => attempts.inc({ outcome }),
    delivered: (count) => delivered.inc(count),
    buried: () => buried.inc(),
    full: () => full.inc(),
  };
}
