import { blocks } from '../../../clickhouse/tables/blocks.ts';
import {
  type JettonWalletRow,
  jettonBalances,
  jettonHolders,
  jettonMasters,
  jettonWallets,
} from '../../../clickhouse/tables/jettons.ts';
import { readContent } from '../../../src/chain/contracts/content.ts';
import { walletId } from '../../../src/chain/contracts/jettons.ts';
import { LAYOUTS, readerOf } from '../../../src/chain/contracts/known-codes.ts';
import type { ContractState } from '../../../src/chain/contracts/reader.ts';
import { CellView } from '../../../src/chain/layouts/cell-view.ts';
import type { Address } from '../../../src/chain/model.ts';
import { textCell } from '../../../src/tvm/executor.ts';
import type { GrowingRows } from '../step-rows.ts';
import { type Asking, jsonOf, type KnownRow, kind } from './kinds.ts';
import { addressArgument, OtherKind, sameAddress } from './stack.ts';
import type { Subject } from './subject.ts';

/** What the data of well-known code tells without running it. */
export function readKnown(subject: Pick<Subject, 'codeHash' | 'data'>): ContractState | null {
  return readerOf(subject.codeHash)?.(CellView.parse(subject.data)) ?? null;
}

export const jettonMaster = kind(
  'jetton_master',
  jettonMasters,
  { methods: ['get_jetton_data'] },
  async (subject, ask) => {
    const known = readKnown(subject);
    if (known?.kind === 'jetton_master') {
      const { totalSupply, mintable, admin, content, walletCodeHash } = known;
      return {
        totalSupply,
        mintable,
        adminAddress: admin,
        jettonContent: jsonOf(content),
        jettonWalletCodeHash: walletCodeHash,
      };
    }
    const results = await ask.call(subject, 'get_jetton_data');
    const content = readContent(results.view(3));
    if (content === null) throw new OtherKind('its content is none');
    return {
      totalSupply: results.int(0),
      mintable: results.flag(1),
      adminAddress: results.addressOrNone(2),
      jettonContent: jsonOf(content),
      jettonWalletCodeHash: results.cell(4).hash(),
    };
  },
);

/**
 * A wallet is one that its master confirms; once it has, for the same owner, it is not asked again. Nor is it asked for
 * further wallets with the same code whose address is that of what such a wallet of the owner is deployed with.
 */
export const jettonWallet = kind(
  'jetton_wallet',
  jettonWallets,
  { methods: ['get_wallet_data'] },
  async (subject, ask) => {
    const found = await walletState(subject, ask);
    const { account, codeHash } = subject;
    const isSure =
      ask.isConfirmed(account, found.owner, found.jetton) ||
      ((await ask.hasConfirmed(found.jetton, codeHash)) && isDeployedFor(subject, found.owner, found.jetton));
    if (!isSure) {
      const master = await ask.contract(found.jetton, 'get_wallet_address');
      const answer = await ask.call(master, 'get_wallet_address', [addressArgument(found.owner)]);
      if (!sameAddress(answer.address(0), subject.account)) throw new OtherKind('its master has another wallet');
    }
    return found;
  },
  {
    tie: { columns: 'owner, jetton, balance', of: ({ owner, jetton, balance }) => ({ owner, of: jetton, balance }) },
    beside: writeBalance,
  },
);

function isDeployedFor({ account, codeHash, code }: Subject, owner: Address, master: Address): boolean {
  const layout = LAYOUTS.get(codeHash.toString('hex'));
  return (
    layout !== undefined && (walletId(layout, textCell(code.text), owner, master)?.equals(account.subarray(4)) ?? false)
  );
}

/** The balance in the order of balances, in the place of the one before, and in the wallet's history. */
function writeBalance(rows: GrowingRows, row: JettonWalletRow, before: KnownRow | null): void {
  const { address, jetton, balance, lastTransactionLt: lt, mcSeqno, owner, mintlessIsClaimed } = row;
  if (before?.tie?.of) {
    const { of, balance: former } = before.tie;
    rows.add(jettonHolders, { jetton: of, balance: former, address, lt: before.lt, mcSeqno, sign: -1 });
  }
  rows.add(jettonHolders, { jetton, balance, address, lt, mcSeqno, sign: 1 });
  const utime = rows.of(blocks).reduce((newest, { genUtime }) => Math.max(newest, genUtime), 0);
  rows.add(jettonBalances, { address, lt, mcSeqno, jetton, balance, mintlessIsClaimed, owner, utime });
}

async function walletState(subject: Subject, ask: Asking) {
  const known = readKnown(subject);
  if (known?.kind === 'jetton_wallet') {
    const { balance, owner, master } = known;
    return { balance, owner, jetton: master, mintlessIsClaimed: null };
  }
  const results = await ask.call(subject, 'get_wallet_data');
  results.cell(3);
  return {
    balance: results.int(0),
    owner: results.address(1),
    jetton: results.address(2),
    mintlessIsClaimed: await isClaimed(subject, ask),
  };
}

const IS_CLAIMED = 'is_claimed';

/** Mintless wallets tell whether the airdrop was claimed; others have no such method. */
async function isClaimed(subject: Subject, ask: Asking): Promise<boolean | null> {
  try {
    return (await ask.call(subject, IS_CLAIMED)).flag(0);
  } catch (error) {
    if (error instanceof OtherKind) return null;
    throw error;
  }
}
