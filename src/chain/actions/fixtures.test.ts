import { describe, expect, it } from 'vitest';
import { shelf } from '../../../test/shelf.ts';
import { differences, traceFixtures } from '../../../test/trace-fixtures.ts';
import { classify } from './classify.ts';

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
});
