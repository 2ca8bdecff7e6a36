import { describe, expect, it } from 'vitest';
import { shelf } from '../../../test/shelf.ts';
import { differences, label, type TraceFixture, traceFixtures } from '../../../test/trace-fixtures.ts';

/**
 * What is told so far, by family. A fixture whose actions are all of these must come out exactly. The list only grows.
 */
const TOLD: Record<string, readonly string[]> = {
  jettons: ['jetton_transfer', 'jetton_burn', 'jetton_mint'],
  nfts: ['nft_mint', 'nft_transfer', 'nft_discovery'],
  ton: ['ton_transfer', 'call_contract', 'contract_deploy', 'tick_tock', 'extra_currency_transfer', 'unknown'],
};

/** The reference gives up on a DNS change of an item that it does not know; the rule is to tell it. */
const OTHER_RULE = new Set(['syn_dns_change_no_ctx']);

function isTold({ expected, name }: TraceFixture): boolean {
  const told = new Set(Object.values(TOLD).flat());
  return expected.every((action) => told.has(label(action))) && !OTHER_RULE.has(name);
}

describe.skipIf(shelf === null)('classified as recorded', () => {
  const fixtures = shelf === null ? [] : traceFixtures().filter(isTold);
  it.each(fixtures.map((fixture) => [fixture.name, fixture] as const))('%s', (_, fixture) => {
    expect(differences(fixture)).toEqual([]);
  });
});
