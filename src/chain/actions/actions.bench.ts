/**
 * Classifying the recorded and made traces of the shelf, one thread, by family: traces and transactions a second of
 * CPU time. Bodies are opened anew each time they are read, from a bag of cells each. Run by `npm run bench:actions`.
 */
import { type TraceFixture, traceFixtures } from '../../../test/trace-fixtures.ts';
import { classify } from './classify.ts';
import { kinds } from './families.ts';

const WARM_UP_MS = 1500;
const MEASURE_MS = 500;
const ALL_MS = 4000;
/** The basic types are in traces of every kind: only a trace of nothing else counts for them. */
const BASIC = new Set(['ton_transfer', 'call_contract', 'contract_deploy', 'tick_tock', 'unknown']);

const fixtures = traceFixtures();

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Classifies the traces round by round for some CPU time. */
function rate(traces: readonly TraceFixture[], ms: number): { traces: number; transactions: number } {
  const start = cpuMs();
  const transactions = traces.reduce((sum, { trace }) => sum + trace.transactions.length, 0);
  let rounds = 0;
  let used = 0;
  while (used < ms) {
    for (const { trace, known } of traces) classify(trace, known);
    rounds++;
    used = cpuMs() - start;
  }
  return { traces: (rounds * traces.length * 1000) / used, transactions: (rounds * transactions * 1000) / used };
}

const told = ({ trace, known }: TraceFixture): Set<string> =>
  new Set(classify(trace, known).actions.map(({ type }) => type));

function families(): Map<string, TraceFixture[]> {
  const known = new Set(kinds.map(({ type }) => type));
  const groups = new Map<string, TraceFixture[]>();
  for (const fixture of fixtures) {
    const types = [...told(fixture)].filter((type) => known.has(type) && !BASIC.has(type));
    for (const type of types.length === 0 ? ['basic'] : types) {
      const group = groups.get(type);
      if (group === undefined) groups.set(type, [fixture]);
      else group.push(fixture);
    }
  }
  return groups;
}

const line = (text: string): void => void process.stdout.write(`${text}\n`);
const number = (value: number): string => Math.round(value).toLocaleString('en').padStart(9);

function report(name: string, traces: readonly TraceFixture[], ms: number): void {
  const { traces: perSecond, transactions } = rate(traces, ms);
  line(`${name.padEnd(34)}${String(traces.length).padStart(5)}${number(perSecond)}${number(transactions)}`);
}

rate(fixtures, WARM_UP_MS);
line('type                               files traces/s     tx/s  (of one core)');
report('all', fixtures, ALL_MS);
for (const [name, traces] of [...families()].sort(([a], [b]) => (a < b ? -1 : 1))) report(name, traces, MEASURE_MS);
