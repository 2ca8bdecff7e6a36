import { Counter, type Registry } from 'prom-client';

/** Whose answer it was: our own data, one that was asked for before, or a liteserver. */
export type StateOrigin = 'own' | 'kept' | 'liteserver';

export interface StateMetrics {
  answered(what: 'account' | 'config' | 'library', from: StateOrigin): void;
}

export function createStateMetrics(registry: Registry): StateMetrics {
  const answers = new Counter({
    name: 'tonstream_states_total',
    help: 'States, configurations and libraries asked for at a step, by where they came from',
    labelNames: ['what', 'from'],
    registers: [registry],
  });
  return { answered: (what, from) => answers.inc({ what, from }) };
}
