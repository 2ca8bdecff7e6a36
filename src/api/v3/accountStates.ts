import { z } from 'zod';
import type { Address, Hash } from '../../chain/model.ts';
import type { AccountCells, AccountRecord } from '../../chain/records.ts';
import { ApiError } from '../errors.ts';
import type { ApiLimits } from '../limits.ts';
import { accountStates } from './account-schemas.ts';
import { nodeState, orNull } from './newest-state.ts';
import { addresses, atStep, flag, hashes } from './parameters.ts';
import { accountJson, goneAmong } from './render/account.ts';
import { joinTexts } from './render/rows.ts';
import { type Asked, listing, type Route, route } from './route.ts';
import { requireMasterchainBlock } from './transactions.ts';

export function accountStatesRoute(limits: ApiLimits): Route {
  return route({
    path: '/accountStates',
    tag: 'accounts',
    summary: 'Latest states of accounts',
    parameters: z.object({
      address: addresses('Accounts to show.', limits.maxAccountStates, true),
      code_hash: hashes('Only accounts with one of these code hashes.'),
      include_boc: flag('Whether to add code and data; true when absent.'),
      at_mc_seqno: atStep(),
    }),
    response: accountStates,
    async answer(p, asked) {
      if (p.address.length === 0) throw new ApiError(422, 'address of account is required');
      const { source, context, addressBook, metadata } = asked;
      const cells = (p.include_boc ?? true) ? 'all' : 'none';
      if (p.at_mc_seqno !== undefined) {
        const past = await pastStates(p.address, p.code_hash, cells, p.at_mc_seqno, asked);
        return listing('accounts', past.map(accountJson), asked, '', goneAmong(past));
      }
      const found = await source.accountStates(p.address, p.code_hash, cells, context);
      const [book, tokens] = await Promise.all([addressBook(found), metadata(found, { listed: goneAmong(found) })]);
      return joinTexts('{"accounts":[', found.map(accountJson), `],"address_book":${book},"metadata":${tokens}}`);
    },
  });
}

/** Accounts of one answer whose cells a liteserver is asked for at the same time. */
const AT_ONCE = 8;

/** As a step left them; cells that are not those of today are a liteserver's, where one has the step still. */
async function pastStates(
  addresses: Address[],
  codeHashes: Hash[],
  cells: AccountCells,
  at: number,
  asked: Asked,
): Promise<AccountRecord[]> {
  await requireMasterchainBlock(at, asked);
  const { source, context, book } = asked;
  const found = await source.accountStatesAt(addresses, codeHashes, cells, at, context);
  for (const { account } of found) book.text(account);
  if (cells === 'none') return found;
  const whole: AccountRecord[] = [];
  for (let i = 0; i < found.length; i += AT_ONCE) {
    whole.push(...(await Promise.all(found.slice(i, i + AT_ONCE).map((record) => withCells(record, at, asked)))));
  }
  return whole;
}

async function withCells(record: AccountRecord, at: number, asked: Asked): Promise<AccountRecord> {
  const { hash, codeHash, dataHash, codeBoc, dataBoc } = record;
  if ((codeHash === null || codeBoc !== null) && (dataHash === null || dataBoc !== null)) return record;
  const shown = await orNull(nodeState(record.account, asked, at));
  return shown?.hash.equals(hash) ? { ...record, codeBoc: shown.code, dataBoc: shown.data } : record;
}
