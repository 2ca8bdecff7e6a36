/** A governed jetton: its holders pay each other, and its admin locks a wallet, moves what is in it, and opens it again. */
import { type Cell, toNano } from '@ton/core';
import {
  callTo,
  governedMasterAddress,
  governedMasterCode,
  governedMasterData,
  governedWalletAddress,
  LOCKED,
  OPEN,
  readGovernedWallet,
  setStatus,
} from '../../contracts/governed.ts';
import { jettonMint, jettonTransfer } from '../../contracts/jettons.ts';
import type { Cast } from '../cast.ts';
import type { Scene } from '../deeds.ts';
import type { Wallet } from '../wallets.ts';
import type { Act, Story } from './story.ts';

const MINTED = 1_000_000_000n;
const WALLET_VALUE = toNano('0.1');
const CALL_VALUE = toNano('0.2');
/** Stays in the wallet but for the gas. */
const STATUS_VALUE = toNano('0.02');

export function createDecree({ governed }: Cast): Story {
  const { ruler, subjects, content } = governed;
  const master = governedMasterAddress(ruler.address, content);
  let turn = 0;

  const order = (body: Cell): Act => ({
    by: ruler,
    messages: [{ to: master, value: CALL_VALUE, bounce: true, body }],
  });

  async function walletOf({ ledger }: Scene, owner: Wallet): Promise<{ status: number; balance: bigint }> {
    const account = await ledger.account(governedWalletAddress(owner.address, master));
    return account?.data ? readGovernedWallet(account.data) : { status: OPEN, balance: 0n };
  }

  function transfer({ random }: Scene, amount: bigint, to: Wallet): Cell {
    return jettonTransfer({
      queryId: random.bits64(),
      amount,
      destination: to.address,
      responseDestination: ruler.address,
      forwardTonAmount: 0n,
      forwardPayload: null,
    });
  }

  async function next(scene: Scene): Promise<Act | null> {
    const { ledger, random } = scene;
    if ((await ledger.account(master))?.status !== 'active') {
      const init = { code: governedMasterCode, data: governedMasterData(ruler.address, content) };
      return { by: ruler, messages: [{ to: master, value: toNano('0.2'), bounce: false, init }] };
    }
    const [first, second] = random.integer(2) === 0 ? subjects : [...subjects].reverse();
    const { status, balance } = await walletOf(scene, first);
    if (balance === 0n && (await walletOf(scene, second)).balance === 0n) {
      const mint = { queryId: random.bits64(), to: first.address, amount: MINTED, tonAmount: WALLET_VALUE };
      return order(jettonMint({ ...mint, forwardTonAmount: 0n, responseDestination: ruler.address }));
    }
    if (balance === 0n) return null;
    if (status === OPEN && turn++ % 2 === 0) {
      const to = governedWalletAddress(first.address, master);
      return {
        by: first,
        messages: [{ to, value: CALL_VALUE, bounce: true, body: transfer(scene, balance / 2n + 1n, second) }],
      };
    }
    const tell = (value: bigint, message: Cell): Act => order(callTo(random.bits64(), first.address, value, message));
    if (status === OPEN) return tell(STATUS_VALUE, setStatus(random.bits64(), LOCKED));
    // What it is locked for is taken from it before it is opened.
    if (turn++ % 2 === 0) return tell(WALLET_VALUE, transfer(scene, balance / 4n + 1n, second));
    return tell(STATUS_VALUE, setStatus(random.bits64(), OPEN));
  }

  return { next };
}
