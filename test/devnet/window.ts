/** What is answered from a window over a devnet with tokens, against the tables alone. */
import { expect, it } from 'vitest';
import { z } from 'zod';
import { actions } from '../../clickhouse/tables/actions.ts';
import { jettonTransfers } from '../../clickhouse/tables/jettons.ts';
import { nftTransfers } from '../../clickhouse/tables/nfts.ts';
import type { TableWith } from '../../clickhouse/tables/table.ts';
import { isLong, rounds, seed } from '../chance.ts';
import { type Stack, until } from '../stack.ts';
import { differences, resting, sampledRequests } from '../window-agreement.ts';
import { POSITIONS } from '../window-positions.ts';
import { projectedBy, windowFrom } from '../windowed.ts';

const REQUESTS = rounds(40, 400);
const Answer = z.record(z.string(), z.unknown());

export function describeWindow(stack: () => Stack): void {
  it('answers from windows of all sizes as from the tables', async () => {
    for (const path of ['jetton/transfers', 'nft/transfers']) await until(path, () => isShown(stack().url, path));
    const projected = await projectedBy(stack());
    try {
      const count = <R extends object>(table: TableWith<R>): number =>
        projected.steps.flatMap(({ step }) => step.rows.of(table)).length;
      for (const table of [jettonTransfers, nftTransfers, actions]) expect(count<object>(table)).toBeGreaterThan(0);
      const paths = resting(sampledRequests(projected.steps, REQUESTS, seed));
      for (const share of isLong ? POSITIONS.filter((one) => one < 1) : [0.5]) {
        const windowed = await windowFrom(projected, Math.floor(projected.steps.length * share));
        try {
          const { clickhouseUrl } = stack();
          const asked = { view: windowed.window.view(), clickhouseUrl, database: 'tonstream', paths };
          expect(await differences(asked)).toEqual([]);
        } finally {
          await windowed.remove();
        }
      }
    } finally {
      await projected.close();
    }
  });
}

async function isShown(url: string, path: string): Promise<true | null> {
  const response = await fetch(`${url}/api/v3/${path}?limit=1`);
  const answer = Answer.parse(await response.json());
  return Object.values(answer).some((value) => Array.isArray(value) && value.length > 0) ? true : null;
}
