/** Ethena: USDe is staked for tsUSDe, which is handed back later. */
import {
  jettonMint as governedMint,
  jettonInternalTransfer,
  jettonNotify,
  jettonTransfer as transferBody,
} from '../layouts/jettons.ts';
import { body } from '../layouts/layout.ts';
import { coins, u64 } from '../layouts/numbers.ts';
import type { Decimal } from '../model.ts';
import { destinationOf, readBody, sourceOf } from './bodies.ts';
import { jettonMint, jettonTransfer } from './jettons.ts';
import { declare } from './kind.ts';
import { depositDetails, requestDetails, type StakeDeposit, type StakeRequest } from './staking.ts';
import type { RawAddress } from './trace.ts';

const PROVIDER = 'ethena';
const USDE = '0:086FA2A675F74347B08DD4606A549B8FDB98829CB282BC1949D3B12FBAED9DCC';
const STAKED_USDE = '0:D0E545323C7ACB7102653C073377F7E3C67F122EB94D430A250739F109D4A57D';
/** Tokens that are locked until they can be handed back; the fields are those of an internal transfer. */
const LOCK = 0xb2583ed5;
const lockBody = body('ethena_lock', LOCK, { query_id: u64, amount: coins });

export const ethenaRequest = declare<StakeRequest & { wallet: RawAddress; tokensMinted: Decimal }>({
  block: 'ethena_withdrawal_request',
  type: 'stake_withdrawal_request',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 43,
      pattern: {
        op: transferBody.opcode,
        child: {
          op: jettonInternalTransfer.opcode,
          as: 'internal',
          child: {
            op: jettonNotify.opcode,
            child: { op: governedMint.opcode, as: 'mint', child: { op: LOCK, as: 'lock' } },
          },
        },
      },
      read(found, known) {
        const { head } = found;
        const internal = found.first('internal');
        const mint = found.first('mint');
        const lock = found.first('lock');
        if (internal === null || mint === null || lock === null) return null;
        const holder = sourceOf(head);
        const wallet = destinationOf(head);
        const from = known.jettonWallet(wallet);
        const to = known.jettonWallet(destinationOf(lock));
        if (from?.owner !== holder || to?.owner !== holder) return null;
        if (from.jetton !== destinationOf(internal) || to.jetton !== sourceOf(lock)) return null;
        return {
          data: {
            holder,
            wallet,
            pool: sourceOf(mint),
            payoutNft: null,
            asset: from.jetton,
            tokensMinted: readBody(lock, lockBody).amount,
          },
        };
      },
    },
  ],
  details: (told) => ({ ...requestDetails(PROVIDER, told), tokens_minted: told.tokensMinted }),
  accounts: ({ holder, wallet, pool }) => ({ source: holder, source2: wallet, destination: pool }),
});

export const ethenaDeposit = declare<StakeDeposit & { sourceAsset: RawAddress; wallet: RawAddress | null }>({
  block: 'ethena_deposit',
  type: 'stake_deposit',
  groups: ['v1', 'staking'],
  leaf: true,
  matchers: [
    {
      rank: 45,
      pattern: {
        block: jettonTransfer.block,
        where: (block) => jettonTransfer.of(block)?.asset === USDE,
        child: { block: jettonMint.block, as: 'mint' },
      },
      read(found) {
        const transfer = jettonTransfer.of(found.head);
        const mint = found.first('mint');
        const minted = jettonMint.of(mint);
        if (transfer === null || mint === null || transfer.receiver === null) return null;
        if (minted?.asset !== STAKED_USDE) return null;
        return {
          data: {
            holder: transfer.sender,
            pool: transfer.receiver,
            amount: transfer.amount,
            tokensMinted: minted.amount,
            asset: minted.asset,
            sourceAsset: USDE,
            wallet: transfer.senderWallet,
          },
          // What came back of the value stays apart.
          blocks: [found.head, mint],
        };
      },
    },
  ],
  details: (told) => ({ ...depositDetails(PROVIDER, told), source_asset: told.sourceAsset }),
  accounts: ({ holder, wallet, pool }) => ({ source: holder, source2: wallet, destination: pool }),
});

export const kinds = [ethenaRequest, ethenaDeposit];
