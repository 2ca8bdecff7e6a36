/** Tokens as tonutils-go's clients of jettons and NFTs read them through a liteserver, beside what v3 lists of them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { askForeign, tonutilsGo } from '../foreign/programs.ts';

/** A service over a chain that stands still, and the global config of a liteserver of that chain. */
export interface Subject {
  url: string;
  globalConfig: string;
}

const row = z.looseObject({ address: z.string() });
type Row = z.infer<typeof row>;
const content = z.record(z.string(), z.string());

const told = z.object({
  masters: z.array(row.extend({ jetton_content: content })),
  holders: z.array(row),
  collections: z.array(row.extend({ collection_content: content })),
  items: z.array(row.extend({ content, confirmed: z.string().nullable() })),
});

/** Jetton wallets that are asked for; of all else every one. */
const MOST_HOLDERS = 40;

export function describeGoTokens(subject: () => Subject): void {
  async function listed(path: string, key: string): Promise<Row[]> {
    const response = await fetch(`${subject().url}/api/v3/${path}`);
    return z.array(row).parse(z.looseObject({}).parse(await response.json())[key]);
  }

  it('tonutils-go reads jettons, wallets, collections and items as they are listed', async () => {
    const program = await tonutilsGo();
    if (program === null) {
      // Said already; where it should be there it is a failure.
      expect(process.env.CI ?? '').toBe('');
      return;
    }
    const rows = {
      masters: await listed('jetton/masters?limit=1000', 'jetton_masters'),
      holders: (await listed('jetton/wallets?limit=1000', 'jetton_wallets')).slice(0, MOST_HOLDERS),
      collections: await listed('nft/collections?limit=1000', 'nft_collections'),
      items: await listed('nft/items?limit=1000', 'nft_items'),
    };
    const addresses = (some: readonly Row[]) => some.map(({ address }) => address);
    const tokens = {
      masters: addresses(rows.masters),
      holders: rows.holders.map(({ jetton, owner }) => ({ jetton, owner })),
      collections: addresses(rows.collections),
      items: addresses(rows.items),
    };
    const folder = mkdtempSync(join(tmpdir(), 'go-tokens-'));
    try {
      const [config, question] = [join(folder, 'config.json'), join(folder, 'question.json')];
      writeFileSync(config, subject().globalConfig);
      writeFileSync(question, JSON.stringify({ tokens }));
      const said = told.parse(await askForeign(program, folder, config, question, 'default'));
      expect(rows.masters).toMatchObject(said.masters);
      expect(rows.holders).toMatchObject(said.holders);
      expect(rows.collections).toMatchObject(said.collections);
      const inCollections = rows.items.map((item) => (item.collection_address === null ? null : item.address));
      expect(said.items.map(({ confirmed }) => confirmed)).toEqual(inCollections);
      expect(rows.items).toMatchObject(said.items.map(({ confirmed, ...item }) => item));
      for (const [kind, found] of Object.entries(rows)) expect(found.length, kind).toBeGreaterThan(0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
