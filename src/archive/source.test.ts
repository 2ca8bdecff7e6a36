import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyTables } from '../../test/empty-tables.ts';
import { recordedSteps } from '../../test/recorded-steps.ts';
import { shelf } from '../../test/shelf.ts';
import type { ChainSource } from '../chain/chain-source.ts';
import type { JettonWalletRecord, TokenCandidates } from '../chain/contract-records.ts';
import { createWindowSource } from '../window/source.ts';
import { openWindow, type Window } from '../window/window.ts';
import { openArchive } from './archive.ts';
import { beneathArchive } from './source.ts';

const MB = 1024 ** 2;
const context = { signal: new AbortController().signal, timeoutMs: 10_000 };
const folder = mkdtempSync(join(tmpdir(), 'tonstream-tokens-'));
const WALLET: JettonWalletRecord = {
  address: Buffer.alloc(36, 1),
  id: '1',
  mcSeqno: 2,
  lastTransactionLt: '1',
  codeHash: Buffer.alloc(32, 1),
  dataHash: Buffer.alloc(32, 2),
  balance: '1',
  owner: Buffer.alloc(36, 9),
  jetton: Buffer.alloc(36, 7),
  mintlessIsClaimed: null,
};

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const BELOW = { lt: 1n, utime: 1 };

/** Tables that say of one wallet what they are told to. */
function tablesWith(said: { balance: string; asked: number }) {
  const ask = <R>(rows: R): Promise<R> => {
    said.asked++;
    return Promise.resolve(rows);
  };
  const wallet = () => ({ ...WALLET, balance: said.balance });
  const tables = emptyTables();
  const contracts = {
    ...tables.contracts,
    tokens: ({ wallets }: TokenCandidates) =>
      ask({ items: [], collections: [], masters: [], wallets: wallets.length > 0 ? [wallet()] : [] }),
    jettonWallets: () => ask([wallet()]),
  };
  const bounded = { ...tables.below(0), contracts };
  return { ...tables, below: () => bounded };
}

/** The balance of the wallet, by its address and by its owner. */
async function told({ contracts }: Pick<ChainSource, 'contracts'>): Promise<string[]> {
  const candidates = { items: [], collections: [], masters: [], wallets: [WALLET.address] };
  const { wallets } = await contracts.tokens(candidates, context);
  const filter = { addresses: [], jettons: [], excludeZeroBalance: false, page: { limit: 10, offset: 0 } };
  const owned = await contracts.jettonWallets({ ...filter, owners: [WALLET.owner] }, context);
  return [...wallets, ...owned].map(({ balance }) => balance);
}

describe.skipIf(shelf === null)('what the tables said of tokens', () => {
  const windows: Window[] = [];

  beforeAll(async () => {
    const steps = await recordedSteps('mainnet-genesis_a');
    for (const from of [10, 20]) {
      const window = openWindow({ folder: join(folder, `from-${from}`), maxBytes: 64 * MB });
      windows.push(window);
      await window.apply(steps.slice(from, from + 10), async () => BELOW);
    }
    // The second is as one that a rebuild has made begin anew: the steps of that are not published.
    expect(windows[1].state?.first).toBe((windows[0].state?.head ?? 0) + 1);
  });

  afterAll(async () => {
    for (const window of windows) await window.close();
  });

  it('is remembered while the window goes on, and forgotten when it begins anew', async () => {
    let [window] = windows;
    const said = { balance: '1', asked: 0 };
    const source = createWindowSource({ view: () => window.view() }, tablesWith(said));
    for (let i = 0; i < 4; i++) expect(await told(source)).toEqual(['1', '1']);
    // The wallet, its master, and the owner's.
    expect(said.asked).toBe(3);
    said.balance = '2';
    [, window] = windows;
    expect(await told(source)).toEqual(['2', '2']);
  });

  it('is forgotten with the tables, also by a window that has the same steps of others', async () => {
    const said = { balance: '1', asked: 0 };
    const window = openWindow({ folder: join(folder, 'others'), maxBytes: 64 * MB });
    windows.push(window);
    const steps = (await recordedSteps('mainnet-genesis_a')).slice(0, 5);
    const source = createWindowSource(window, tablesWith(said));
    for (const balance of ['1', '2']) {
      said.balance = balance;
      window.belongTo(`tables ${balance}`);
      await window.apply(steps, async () => BELOW);
      for (let i = 0; i < 2; i++) expect(await told(source)).toEqual([balance, balance]);
    }
  });

  it('is not asked of an archive of other tables than those of the window', async () => {
    const said = { balance: '2', asked: 0 };
    const tables = tablesWith(said);
    const [window] = windows;
    const archive = openArchive(join(folder, 'former'), null);
    try {
      const { first = 0, globalId = 0 } = window.state ?? {};
      const begun = await archive.begin({ tables: 'former', globalId, head: first - 1, below: BELOW });
      await archive.add(begun, [], { first: 3, head: first - 1, below: BELOW });
      const asked = (id: string): boolean => {
        const opened = beneathArchive(archive, tables).open();
        const view = window.view();
        try {
          if (view === null) throw new Error('the window is empty');
          const { wholeTo } = opened.under(Object.assign(view, { state: { ...view.state, tables: id } }));
          return wholeTo === first - 1;
        } finally {
          view?.done();
          opened.done();
        }
      };
      expect(['former', 'present'].map(asked)).toEqual([true, false]);
    } finally {
      await archive.close();
    }
  });

  it('is forgotten by an archive of other tables', async () => {
    let [window] = windows;
    const said = { balance: '1', asked: 0 };
    const tables = tablesWith(said);
    const archive = openArchive(join(folder, 'archive'), null);
    /** Without rows, up to the window. */
    const begin = async (id: string): Promise<void> => {
      const { first = 0, globalId = 0 } = window.state ?? {};
      const begun = await archive.begin({ tables: id, globalId, head: first - 1, below: BELOW });
      await archive.add(begun, [], { first: 3, head: first - 1, below: BELOW });
    };
    try {
      await begin('one');
      const source = createWindowSource({ view: () => window.view() }, tables, beneathArchive(archive, tables));
      for (let i = 0; i < 3; i++) expect(await told(source)).toEqual(['1', '1']);
      said.balance = '2';
      [, window] = windows;
      await begin('two');
      expect(await told(source)).toEqual(['2', '2']);
    } finally {
      await archive.close();
    }
  });
});
