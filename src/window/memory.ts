/** What is kept of the tables' answers by those who list what lies over them. */
import type { ClickHouseSource } from '../../clickhouse/queries/source.ts';
import { createAccounts } from './accounts.ts';
import { createHolders } from './holders.ts';
import { createTokenLists } from './token-lists.ts';
import { createTokenStates, createTokens, createWalletsAt } from './tokens.ts';

export function createMemory(clickhouse: ClickHouseSource) {
  const states = createTokenStates();
  const tokens = createTokens(states);
  return {
    accounts: createAccounts(clickhouse),
    tokens,
    walletsAt: createWalletsAt(states),
    lists: createTokenLists(states, tokens),
    holders: createHolders(tokens),
  };
}
