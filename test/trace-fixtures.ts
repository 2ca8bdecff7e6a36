import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { classify } from '../src/chain/actions/classify.ts';
import { printAction } from '../src/chain/actions/print.ts';
import { readTraceFile, type TraceFile } from '../src/chain/actions/trace-file.ts';
import { requireShelf } from './shelf.ts';

const action = z.looseObject({
  action_id: z.string(),
  type: z.string(),
  details: z.record(z.string(), z.unknown()),
  transactions: z.array(z.string()),
  accounts: z.array(z.string()),
  trace_external_hash: z.string().optional(),
  _parent_action_id: z.string().nullable(),
  _ancestor_type: z.array(z.string()),
  _quirk: z.string().optional(),
});
const expectation = z.object({
  expected: z.object({ classification_state: z.string(), actions: z.array(action) }),
});
export type ExpectedAction = z.infer<typeof action>;

/** A trace with what another classifier told of it. */
export interface TraceFixture extends TraceFile {
  json: unknown;
  state: string;
  expected: ExpectedAction[];
}

export function traceFixtures(): TraceFixture[] {
  const folder = join(requireShelf(), 'data/traces');
  return readdirSync(folder)
    .filter((name) => /\.json(\.gz)?$/.test(name))
    .map((name) => {
      const bytes = readFileSync(join(folder, name));
      const json: unknown = JSON.parse((name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString());
      const { expected } = expectation.parse(json);
      return { ...readTraceFile(json), json, state: expected.classification_state, expected: expected.actions };
    });
}

/** The type of an action, with the exchange or pool it is of. */
export function label({ type, details }: Pick<ExpectedAction, 'type' | 'details'>): string {
  const of = details.dex ?? details.provider;
  return typeof of === 'string' ? `${type}/${of}` : type;
}

/**
 * Classifies a fixture and compares field by field, with sets as sets.
 * @returns what differs, one line each; empty when nothing does
 */
export function differences(fixture: TraceFixture): string[] {
  const { trace, known } = fixture;
  const { state, actions, error } = classify(trace, known);
  const lines: string[] = [];
  if (state !== fixture.state) lines.push(`state ${state}, expected ${fixture.state} (${String(error)})`);
  const told = new Map<string, ExpectedAction>();
  for (const one of actions) {
    const printed: unknown = JSON.parse(
      JSON.stringify({
        ...printAction(one, trace),
        accounts: one.accounts,
        _parent_action_id: one.parentId,
        _ancestor_type: one.ancestors,
      }),
    );
    told.set(one.id, action.parse(printed));
  }
  for (const expected of fixture.expected) {
    const found = told.get(expected.action_id);
    told.delete(expected.action_id);
    if (found !== undefined) lines.push(...unlike(found, expected));
    // Made from a log of a deployment: should not be.
    else if (expected._quirk !== 'deploy_from_log') lines.push(`missing: ${JSON.stringify(expected)}`);
  }
  for (const extra of told.values()) lines.push(`not expected: ${JSON.stringify(extra)}`);
  return lines;
}

function unlike(found: ExpectedAction, expected: ExpectedAction): string[] {
  const lines: string[] = [];
  const note = (key: string, a: unknown, b: unknown): void => {
    if (isDeepStrictEqual(a, b)) return;
    lines.push(`${label(expected)} ${key}: ${JSON.stringify(a)}, expected ${JSON.stringify(b)}`);
  };
  const { details, accounts, transactions, _ancestor_type, _quirk, trace_external_hash, ...rest } = expected;
  for (const [key, value] of Object.entries(rest)) note(key, found[key], value);
  note('trace_external_hash', found.trace_external_hash ?? '', trace_external_hash ?? '');
  note('transactions', [...found.transactions].sort(), [...transactions].sort());
  note('_ancestor_type', [...found._ancestor_type].sort(), [..._ancestor_type].sort());
  // The reference has the public key among the accounts of this type: it is no address.
  const isAddress = (account: string): boolean => expected.type !== 'tgbtc_new_key' || account.includes(':');
  note('accounts', [...found.accounts].sort(), accounts.filter(isAddress).sort());
  for (const key of new Set([...Object.keys(details), ...Object.keys(found.details)])) {
    note(`details.${key}`, comparable(key, found.details[key]), comparable(key, details[key]));
  }
  return _quirk === 'asset_order' ? lines.filter((line) => !/details\.(asset|user_jetton_wallet)_/.test(line)) : lines;
}

/** The order of excesses is free. */
function comparable(key: string, value: unknown): unknown {
  return key === 'vault_excesses' && Array.isArray(value) ? value.map((one) => JSON.stringify(one)).sort() : value;
}
