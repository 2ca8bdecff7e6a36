/** Liquidations at EVAA (evaafi/contracts). */
import { DecodeError } from '../errors.ts';
import { address, anyAddress } from '../layouts/addresses.ts';
import type { Codec } from '../layouts/codec.ts';
import { evaaOps } from '../layouts/evaa.ts';
import { body } from '../layouts/layout.ts';
import { u64, u256, uint } from '../layouts/numbers.ts';
import { cell, record, ref, rest } from '../layouts/shapes.ts';
import type { Address, Decimal } from '../model.ts';
import type { Block } from './block.ts';
import { addressText, destinationOf, messageOf, readBody } from './bodies.ts';
import type { Details } from './details.ts';
import { groups, hex256, payloadOf, request, TON_ASSET, thanks, userCall } from './evaa-messages.ts';
import { jettonTransfer } from './jettons.ts';
import { declare } from './kind.ts';
import { BOUNCED, type Match, type Pattern } from './pattern.ts';
import type { RawAddress } from './trace.ts';

/** Tag of an external address. */
const EXTERNAL = 1;

/** Who is in debt is an account, or nobody. */
const borrowerAddress: Codec<Address | null> = {
  ...anyAddress,
  read(cursor) {
    const { at } = cursor;
    if (cursor.u(2) === EXTERNAL) throw new DecodeError('external address of a borrower');
    cursor.at = at;
    return anyAddress.read(cursor);
  },
};

/**
 * Clients leave the query id out of a request in jettons (evaafi/sdk). It is read like one in TON all the same, as the
 * reference does: what stands at the places of the addresses decides whether it is told, and what is told of one that
 * failed.
 */
const liquidateBody = record(null, {
  query_id: u64,
  borrower: borrowerAddress,
  liquidator: anyAddress,
  collateral_id: u256,
  min: u64,
  include_user_code: uint(2),
  incoming: u64,
});

// Of each answer what is told, and nothing behind it; of a refusal also a reason that has no name.

const liquidatedBody = body('evaa_liquidate_satisfied', evaaOps.liquidateSatisfied, {
  query_id: u64,
  owner: address,
  liquidator: address,
  transferred_id: u256,
  details: ref(
    record(null, {
      delta_loan: u64,
      liquidatable: u64,
      gift: u64,
      new_loan: u64,
      collateral_id: u256,
      delta_collateral: u64,
      reward: u64,
    }),
  ),
});
const unsatisfiedBody = body('evaa_liquidate_unsatisfied', evaaOps.liquidateUnsatisfied, {
  query_id: u64,
  owner: address,
  liquidator: address,
  transferred_id: u256,
  details: ref(
    record(null, { transferred: u64, collateral_id: u256, min: u64, forward: u64, payload: cell, error: rest }),
  ),
});

const REASONS: ReadonlyMap<number, string> = new Map([
  [0xe001, 'master_liquidating_too_much'],
  [0xe002, 'user_withdraw_in_progress'],
  [0xe003, 'not_liquidatable'],
  [0xe004, 'execution_crashed'],
  [0xe005, 'min_collateral_not_satisfied'],
  [0xe006, 'user_not_enough_collateral'],
  [0xe007, 'user_liquidating_too_much'],
  [0xe008, 'master_not_enough_liquidity'],
  [0xe009, 'liquidation_prices_missing'],
]);

/** Jetton masters by asset id, on mainnet. */
const ASSETS: ReadonlyMap<string, RawAddress> = new Map([
  [
    '0xb387968236197958ca4ac55e9b5be38e688c7631af84c86756431f49a878ef33',
    '0:729C13B6DF2C07CBF0A06AB63D34AF454F3D320EC1BCD8FB5C6D24D0806A17C2',
  ],
  [
    '0x83d916c68510802104d1f75aa6ce30eb1e477aede0d380eee2188e0e56581fc6',
    '0:7E30FC2B7751BA58A3642F3FD59D5E96A810DDD78D8A310BFE8353BEF10500DF',
  ],
  [
    '0x495668e908644f30322b997de8faaafc21f05aa52f8982f042dac1fe0b4d09d0',
    '0:CD872FA7C5816052ACDF5332260443FAEC9AACC8C21CCA4D92E7F47034D11892',
  ],
  [
    '0x3313e2f57ba870af34480350c789b0987d15b43a53172bfce294de21e7d724e7',
    '0:BDF3FA8098D129B54B4F73B5BAC5D1E1FD91EB054169C3916DFC8CCD536D1000',
  ],
  [
    '0xca9006bd3fb03d355daeeff93b24be90afaa6e3ca0073ff5720f8a852c933278',
    '0:B113A994B5024A16719F69139328EB759596C38A25F59028B146FECDC3621DFE',
  ],
  [
    '0xe025e6a575f174da6d62577c1fe204ccaa5d1e47c55c6b20c67daee56c357b60',
    '0:3E5FFCA8DDFCF36C36C9FF46F31562AAB51B9914845AD6C26CBDE649D58A5588',
  ],
  [
    '0x9c77a4d798a8f500dcfb877a07227c4ca9d6782504cdc7ce2ad0051e5641c032',
    '0:8D636010DD90D8C0902AC7F9F397D8BD5E177F131EE2CCA24CE894F15D19CEEA',
  ],
  [
    '0x6bfa124cc1343d14ba57ded299f6f514f5f26777099e3c378922ce4081ecbf91',
    '0:AEA78C710AE94270DC263A870CF47B4360F53CC5ED38E3DB502E9E9AFB904B11',
  ],
  [
    '0xe08b1f092e7240fb61bf8249d71aa635102acdd50122138105c35dd2896b5331',
    '0:FE72F474373E97032441BDB873F9A6D3AD10BAB08E6DBC7BEFA5E42B695F5400',
  ],
  [
    '0x70930360b81e5f4ef2e06d2bf64978b44d4b87fb85d78788e001cdf8812d13d1',
    '0:AFC49CB8786F21C87045B19EDE78FC6B46C51048513F8E9A6D44060199C1BF0C',
  ],
  [
    '0x8be3365cabaa6a0f90d2e64f03fa78268c135fe0b0758b576b447e9b2068d75d',
    '0:2F956143C461769579BAEF2E32CC2D7BC18283F40D20BB03E432CD603AC33FFC',
  ],
  [
    '0xb372eaca5210612d285f3fdd30e87a0c3a443f1bb7578e16da72563241997ca1',
    '0:1F1798F724C2296652E6002BFB51BED11FB5A689532E5788AF7203581EF367A8',
  ],
  [
    '0xb8a51f42ccbb912d973e58a22dda26decc7dfc83718c325c24432045ad78dc5a',
    '0:E8CB571401B1AADB9DEFC1FA0F72A4A5A0E0D5016903067891D763C91541E72B',
  ],
  [
    '0xc585bac25948a5feea8f2a9e052eb45995882b15dfb784b37cd271cc163f3aea',
    '0:5EE20B5240CC4CE51A4C60BAF8C9D358EF617C26463E89C6571B534972C8EEF1',
  ],
  [
    '0xd9496f9b279a4e26c49eb65d5c47c79b6dfdea16c9baefa9158a7dfbbbcac04a',
    '0:086FA2A675F74347B08DD4606A549B8FDB98829CB282BC1949D3B12FBAED9DCC',
  ],
  [
    '0x4a4bae807cc87355de2ead44b21a739d9d35e9bba9a217f5cc9c0108197ad137',
    '0:D0E545323C7ACB7102653C073377F7E3C67F122EB94D430A250739F109D4A57D',
  ],
]);

/** The same on testnet. */
const TESTNET_ASSETS: ReadonlyMap<string, RawAddress> = new Map([
  [
    '0xb387968236197958ca4ac55e9b5be38e688c7631af84c86756431f49a878ef33',
    '0:5EE20B5240CC4CE51A4C60BAF8C9D358EF617C26463E89C6571B534972C8EEF1',
  ],
  [
    '0x83d916c68510802104d1f75aa6ce30eb1e477aede0d380eee2188e0e56581fc6',
    '0:DA639C946AD6271DE8BBDC706A457FCEC7D2CAD979D1ED7B8263D3050B620D6D',
  ],
  [
    '0x495668e908644f30322b997de8faaafc21f05aa52f8982f042dac1fe0b4d09d0',
    '0:B70EEC37760F24F7CC5FE52EC19BB60E595279416F219B788BA857C97DAFE0F6',
  ],
  [
    '0xb8a51f42ccbb912d973e58a22dda26decc7dfc83718c325c24432045ad78dc5a',
    '0:E8CB571401B1AADB9DEFC1FA0F72A4A5A0E0D5016903067891D763C91541E72B',
  ],
  [
    '0xc585bac25948a5feea8f2a9e052eb45995882b15dfb784b37cd271cc163f3aea',
    '0:5EE20B5240CC4CE51A4C60BAF8C9D358EF617C26463E89C6571B534972C8EEF1',
  ],
]);

/** The jetton that an id of an asset stands for, and whether anything is known of the id: TON has no master. */
function namedAsset(id: string, masters: ReadonlyMap<string, RawAddress>) {
  const asset = masters.get(id) ?? null;
  return { asset, is_known_asset: asset !== null || id === TON_ASSET };
}

/**
 * Details of a liquidation as testnet prints them. They are told alike on every network, and which one it is shows when
 * they are printed.
 */
export function liquidationOnTestnet(details: Details): Details {
  return { ...details, ...namedAsset(String(details.asset_id), TESTNET_ASSETS) };
}

interface Liquidate {
  source: RawAddress | null;
  borrower: RawAddress | null;
  contract: RawAddress | null;
  collateral: Decimal;
  debt: Decimal;
  amount: Decimal;
  failReason: string | null;
}

/** What the liquidator gets in the end: a report, or jettons. */
const settled: Pattern = {
  any: [{ op: [evaaOps.liquidateReport, evaaOps.liquidateFail] }, { block: jettonTransfer.block }],
};

/** The request, of TON or in the payload of a jetton transfer. */
function liquidateRequest(head: Block) {
  const transfer = jettonTransfer.of(head);
  const payload = payloadOf(transfer, evaaOps.liquidateMaster);
  if (transfer !== null && payload !== null) return { source: transfer.sender, asked: liquidateBody.read(payload) };
  const cursor = messageOf(head).body().cursor();
  cursor.skip(32);
  return { source: messageOf(head).source, asked: liquidateBody.read(cursor) };
}

export const liquidate = declare<Liquidate>({
  block: 'evaa_liquidate',
  groups,
  leaf: false,
  matchers: [
    {
      rank: 54,
      pattern: request(evaaOps.liquidateMaster, {
        any: [
          userCall(evaaOps.liquidateUser, {
            as: 'user',
            child: {
              any: [
                {
                  op: evaaOps.liquidateSatisfied,
                  as: 'liquidated',
                  children: [userCall(evaaOps.liquidateSuccess, { child: thanks }), settled],
                },
                {
                  op: evaaOps.liquidateSatisfied,
                  children: [{ op: evaaOps.liquidateFail }, settled],
                },
                { op: evaaOps.liquidateUnsatisfied, as: 'refused', child: settled },
              ],
            },
          }),
          // Sent back at once.
          { op: BOUNCED },
          { block: jettonTransfer.block },
        ],
      }),
      read(found) {
        const { source, asked } = liquidateRequest(found.head);
        const user = found.first('user');
        const liquidated = found.first('liquidated');
        const contract = user === null ? null : destinationOf(user);
        if (liquidated !== null) {
          const { owner, details } = readBody(liquidated, liquidatedBody);
          const { collateral_id: collateral, liquidatable: debt, reward: amount } = details;
          return {
            data: { source, borrower: addressText(owner), contract, collateral, debt, amount, failReason: null },
          };
        }
        return {
          data: {
            source,
            borrower: addressText(asked.borrower),
            contract,
            collateral: asked.collateral_id,
            debt: asked.incoming,
            amount: '0',
            failReason: refusal(found),
          },
          failed: true,
        };
      },
    },
  ],
  details({ source, borrower, contract, collateral, debt, amount, failReason }): Details {
    const assetId = hex256(collateral);
    return {
      fail_reason: failReason,
      debt_amount: debt,
      source,
      borrower,
      borrower_contract: contract,
      collateral,
      asset_id: assetId,
      ...namedAsset(assetId, ASSETS),
      amount,
    };
  },
  accounts: ({ source, borrower, contract }) => ({ source, destination: borrower, destination2: contract }),
});

function refusal(found: Match): string {
  if (found.first('user') === null) return 'immediate_rejection';
  const refused = found.first('refused');
  // The borrower's contract agreed: it was the master that could not pay.
  if (refused === null) return 'master_not_enough_liquidity';
  const code = readBody(refused, unsatisfiedBody).details.error.opcode;
  return code === null ? 'parse_error' : (REASONS.get(code) ?? 'unknown');
}

export const kinds = [liquidate];
