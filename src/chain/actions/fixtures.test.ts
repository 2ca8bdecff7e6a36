import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { shelf } from '../../../test/shelf.ts';
import { differences, traceFixtures } from '../../../test/trace-fixtures.ts';
import { classify } from './classify.ts';
import type { KnownContracts } from './known.ts';
import type { Trace } from './trace.ts';
import { readTraceFile } from './trace-file.ts';

/** What a recording knows of contracts, and what changes where the reference does not know one: types, fields, nothing. */
const recordedContext = z.looseObject({
  context: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ used_for: z.enum(['types', 'fields', 'nothing']) })),
  ),
});

/** The reference gives up where these are not known; the rules are to tell what can be told. */
const TOLD_ANYWAY = /^syn_dns_(change|delete|renew)|^02TsVcC_MOggAZvHHBITbHCvzAt_hCq5WVAiKcZFMno=$/;

/** The reference gives up on a DNS change of an item that it does not know; the rule is to tell it. */
const OTHER_RULE = 'syn_dns_change_no_ctx';

describe.skipIf(shelf === null)('classified as recorded', () => {
  const fixtures = shelf === null ? [] : traceFixtures();
  const alike = fixtures.filter(({ name }) => name !== OTHER_RULE);

  it.each(alike.map((fixture) => [fixture.name, fixture] as const))('%s', (_, fixture) => {
    expect(differences(fixture)).toEqual([]);
  });

  it('tells the change of a name that is not known', () => {
    const fixture = fixtures.find(({ name }) => name === OTHER_RULE);
    if (fixture === undefined) throw new Error('no such fixture');
    const { state, actions } = classify(fixture.trace, fixture.known);
    expect([state, actions.map(({ type, details }) => [type, details.nft_collection])]).toEqual([
      'ok',
      [['change_dns', null]],
    ]);
  });

  it('says other things without the very contracts that the reference needs', () => {
    const unlike: string[] = [];
    let asked = 0;
    for (const { name, json, trace, known } of fixtures) {
      const whole = toldOf(trace, known);
      const { context } = recordedContext.parse(json);
      for (const [kind, contracts] of Object.entries(context)) {
        for (const [address, { used_for }] of Object.entries(contracts)) {
          const { [address]: _, ...others } = contracts;
          const without = readTraceFile({ ...(json as object), context: { ...context, [kind]: others } });
          const told = toldOf(without.trace, without.known);
          const changed = told.types !== whole.types ? 'types' : told.all !== whole.all ? 'fields' : 'nothing';
          const expected = used_for === 'types' && TOLD_ANYWAY.test(name) ? /types|fields/ : used_for;
          if (changed.match(expected) === null) unlike.push(`${name}: ${kind} ${address}: ${changed}, not ${used_for}`);
          asked++;
        }
      }
    }
    expect(unlike).toEqual([]);
    expect(asked).toBeGreaterThan(400);
  });
});

function toldOf(trace: Trace, known: KnownContracts): { types: string; all: string } {
  const { state, actions } = classify(trace, known);
  return { types: [state, ...actions.map(({ type }) => type).sort()].join(), all: JSON.stringify(actions) };
}
