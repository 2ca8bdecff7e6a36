import { describe, expect, it } from 'vitest';
import { bytes } from '../../clickhouse/literal.ts';
import { RowWriter } from '../../clickhouse/rowbinary.ts';
import { type AccountRow, accounts, codes } from '../../clickhouse/tables/accounts.ts';
import { jettonMasters, jettonWallets } from '../../clickhouse/tables/jettons.ts';
import { addressOf, rawAddress } from '../../src/chain/address.ts';
import { methodId } from '../../src/chain/interfaces.ts';
import type { Hash } from '../../src/chain/model.ts';
import { madeHash } from '../../test/made-chain.ts';
import { createCodeKinds } from './code-kinds.ts';
import { createStepRows, type GrowingRows } from './step-rows.ts';

const { signal } = new AbortController();
const account = addressOf(0, madeHash('account'));
const CODES: Record<string, readonly number[]> = {
  wallet: [methodId('seqno'), methodId('get_public_key')],
  jettonWallet: [methodId('get_wallet_data')],
  jettonMaster: [methodId('get_jetton_data'), methodId('get_wallet_address')],
  untold: [],
};

/** Table `codes` with these. */
function tableOf(names: readonly string[]) {
  const asked: string[] = [];
  const query = async (sql: string): Promise<Buffer> => {
    asked.push(sql);
    const out = new RowWriter();
    for (const name of names.filter((one) => sql.includes(bytes(madeHash(one))))) {
      out.fixed(madeHash(name), 32);
      codes.columns.methods.write(out, [...CODES[name]]);
      out.endRow();
    }
    return Buffer.concat(out.take());
  };
  return { asked, query };
}

/** A step that leaves the account with a code. */
function stepWith(mcSeqno: number, codeHash: Hash | null): GrowingRows {
  const rows = createStepRows(mcSeqno);
  rows.add(accounts, { account, lt: String(mcSeqno), codeHash } as AccountRow);
  return rows;
}

const likely = async (kinds: ReturnType<typeof createCodeKinds>, ...names: (string | null)[]) => {
  const steps = names.map((name, i) => stepWith(i + 1, name === null ? null : madeHash(name)));
  return (await kinds.of(steps, signal)).get(rawAddress(account));
};

describe('tables that may have an account', () => {
  it.each([
    ['of a wallet: none', ['wallet'], []],
    ['of a jetton wallet', ['jettonWallet'], [jettonWallets]],
    ['of one that is given another code', ['jettonWallet', 'jettonMaster'], [jettonWallets, jettonMasters]],
    ['of one that is given its code', [null, 'jettonMaster'], [jettonMasters]],
    ['of one whose methods are not told: any', ['untold'], null],
    ['of one whose code is not known: any', ['absent', 'wallet'], null],
  ])('%s', async (_, names, tables) => {
    const found = await likely(createCodeKinds(tableOf(Object.keys(CODES))), ...names);
    expect(found && [...found]).toEqual(tables);
  });

  it('follow the codes that steps show, and ask once for each code', async () => {
    const table = tableOf([]);
    const kinds = createCodeKinds(table);
    expect(await likely(kinds, 'jettonWallet')).toBeNull();
    const shown = stepWith(2, madeHash('jettonWallet'));
    shown.add(codes, { codeHash: madeHash('jettonWallet'), methods: [...CODES.jettonWallet], boc: Buffer.alloc(0) });
    const found = (await kinds.of([shown], signal)).get(rawAddress(account));
    expect(found && [...found]).toEqual([jettonWallets]);
    expect(table.asked).toHaveLength(1);
  });
});
